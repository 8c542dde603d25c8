(** The checker as OCaml.  Integers become those of Zarith, numbers of states machine integers, and vectors the arrays of
    vectors.ml; only the operations below are taken from there.

    Anything else would end the program: the other constructors of numbers, and matching on them. *)

Require Import ZArith ExtrOcamlBasic Checker.

Extract Inductive positive => "int" [ "Vectors.no_number" "Vectors.no_number" "1" ] "Vectors.no_match".
Extract Inlined Constant Pos.succ => "Stdlib.succ".
Extract Inlined Constant Pos.eqb => "Int.equal".
Extract Inlined Constant Pos.ltb => "Vectors.before".

Extract Inlined Constant vector => "Vectors.t".
Extract Inlined Constant get => "Vectors.get".
Extract Inlined Constant scatter => "Vectors.scatter".

Extract Inductive Z =>
  "Big_int_Z.big_int" [ "Big_int_Z.zero_big_int" "(fun _ -> assert false)" "(fun _ -> assert false)" ]
  "(fun _ _ _ _ -> assert false)".
Extract Inlined Constant Z.succ => "Big_int_Z.succ_big_int".
Extract Inlined Constant Z.opp => "Big_int_Z.minus_big_int".
Extract Inlined Constant Z.abs => "Big_int_Z.abs_big_int".
Extract Inlined Constant Z.add => "Big_int_Z.add_big_int".
Extract Inlined Constant Z.sub => "Big_int_Z.sub_big_int".
Extract Inlined Constant Z.mul => "Big_int_Z.mult_big_int".
Extract Inlined Constant Z.min => "Big_int_Z.min_big_int".
Extract Inlined Constant Z.max => "Big_int_Z.max_big_int".
Extract Inlined Constant Z.leb => "Big_int_Z.le_big_int".
Extract Inlined Constant Z.ltb => "Big_int_Z.lt_big_int".

Extraction "checker.ml" accepts check_long_run.
