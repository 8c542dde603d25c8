(** The axioms that the theorems depend on; the test compares what is printed with docs/markov-bound.md. *)

Require Import Theory Checker.

Print Assumptions existence.
Print Assumptions total_variation.
Print Assumptions every_event.
Print Assumptions uniqueness.
Print Assumptions mean_near.
Print Assumptions mean_between.
Print Assumptions exactly_one.
Print Assumptions check_bound_sound.
Print Assumptions check_mean_sound.
Print Assumptions accepts_sound.
Print Assumptions long_run.
Print Assumptions check_long_run_sound.
