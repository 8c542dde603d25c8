(** Certificates of stationary distributions: the theorem, over the real numbers.

    States are the natural numbers below [n].  [q i j] is the rate from [i] to [j].  The diagonal of [q] has no
    effect: both [drift] and [net] count it with the factor zero.  docs/markov-bound.md has the same proof on paper. *)

Require Import Reals Lra Lia PeanoNat.
Open Scope R_scope.

(** * Finite sums *)

Fixpoint sum (n : nat) (f : nat -> R) : R :=
  match n with
  | O => 0
  | S k => sum k f + f k
  end.

Lemma sum_ext n f g : (forall i, (i < n)%nat -> f i = g i) -> sum n f = sum n g.
Proof.
  induction n as [|n IH]; intros E; simpl; [reflexivity|].
  rewrite IH, (E n) by (intros; try apply E; lia). reflexivity.
Qed.

Lemma sum_le n f g : (forall i, (i < n)%nat -> f i <= g i) -> sum n f <= sum n g.
Proof.
  induction n as [|n IH]; intros E; simpl; [lra|].
  apply Rplus_le_compat; [apply IH; intros; apply E|apply E]; lia.
Qed.

Lemma sum_plus n f g : sum n (fun i => f i + g i) = sum n f + sum n g.
Proof. induction n as [|n IH]; simpl; [lra|rewrite IH; lra]. Qed.

Lemma sum_minus n f g : sum n (fun i => f i - g i) = sum n f - sum n g.
Proof. induction n as [|n IH]; simpl; [lra|rewrite IH; lra]. Qed.

Lemma sum_scale n a f : sum n (fun i => a * f i) = a * sum n f.
Proof. induction n as [|n IH]; simpl; [lra|rewrite IH; lra]. Qed.

Lemma sum_zero n f : (forall i, (i < n)%nat -> f i = 0) -> sum n f = 0.
Proof.
  intros E. rewrite (sum_ext n f (fun _ => 0 * 0)) by (intros; rewrite E; [lra|assumption]).
  rewrite sum_scale. lra.
Qed.

Lemma sum_nonneg n f : (forall i, (i < n)%nat -> 0 <= f i) -> 0 <= sum n f.
Proof. intros E. rewrite <- (sum_zero n (fun _ => 0)) by reflexivity. apply sum_le, E. Qed.

Lemma sum_nonneg_zero n f :
  (forall i, (i < n)%nat -> 0 <= f i) -> sum n f <= 0 -> forall i, (i < n)%nat -> f i = 0.
Proof.
  induction n as [|n IH]; intros P E i L; [lia|]. simpl in E.
  assert (A : 0 <= sum n f) by (apply sum_nonneg; intros; apply P; lia).
  assert (B : 0 <= f n) by (apply P; lia).
  destruct (Nat.eq_dec i n) as [->|D]; [lra|].
  apply IH; [intros; apply P; lia|lra|lia].
Qed.

Lemma sum_swap n m (f : nat -> nat -> R) :
  sum n (fun i => sum m (fun j => f i j)) = sum m (fun j => sum n (fun i => f i j)).
Proof.
  induction n as [|n IH]; simpl; [symmetry; apply sum_zero; reflexivity|].
  rewrite IH, sum_plus. reflexivity.
Qed.

Lemma sum_abs n f : Rabs (sum n f) <= sum n (fun i => Rabs (f i)).
Proof.
  induction n as [|n IH]; simpl; [rewrite Rabs_R0; lra|].
  eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat_r, IH.
Qed.

(** Positive and negative part. *)

Definition pos (t : R) := Rmax t 0.
Definition neg (t : R) := Rmax (- t) 0.

Lemma pos_neg t : t = pos t - neg t /\ Rabs t = pos t + neg t /\ 0 <= pos t /\ 0 <= neg t.
Proof.
  unfold pos, neg, Rmax, Rabs.
  destruct (Rle_dec t 0), (Rle_dec (- t) 0), (Rcase_abs t); lra.
Qed.

Lemma pos_opp t : pos (- t) = neg t.
Proof. reflexivity. Qed.

Lemma neg_opp t : neg (- t) = pos t.
Proof. unfold pos, neg. rewrite Ropp_involutive. reflexivity. Qed.

(** * Generators *)

Definition rates (n : nat) (q : nat -> nat -> R) :=
  forall i j, (i < n)%nat -> (j < n)%nat -> 0 <= q i j.

(** [drift] is Q h, [net] is x Q. *)

Definition drift n (q : nat -> nat -> R) (h : nat -> R) (i : nat) : R :=
  sum n (fun j => q i j * (h j - h i)).

Definition net n (q : nat -> nat -> R) (x : nat -> R) (j : nat) : R :=
  sum n (fun i => x i * q i j - x j * q j i).

Record stationary n q (p : nat -> R) : Prop := {
  stationary_nonneg : forall i, (i < n)%nat -> 0 <= p i;
  stationary_mass : sum n p = 1;
  stationary_net : forall j, (j < n)%nat -> net n q p j = 0 }.

Lemma adjoint n q x h : sum n (fun j => net n q x j * h j) = sum n (fun i => x i * drift n q h i).
Proof.
  transitivity (sum n (fun j => sum n (fun i => x i * q i j * h j))
                - sum n (fun j => sum n (fun i => x j * q j i * h j))).
  - rewrite <- sum_minus. apply sum_ext; intros j _. unfold net.
    rewrite <- sum_minus, Rmult_comm, <- sum_scale. apply sum_ext; intros; ring.
  - rewrite sum_swap, <- sum_minus. apply sum_ext; intros i _. unfold drift.
    rewrite <- sum_minus, <- sum_scale. apply sum_ext; intros; ring.
Qed.

Lemma net_minus n q x y a j :
  net n q (fun i => x i - a * y i) j = net n q x j - a * net n q y j.
Proof.
  unfold net. rewrite <- sum_scale, <- sum_minus. apply sum_ext; intros; ring.
Qed.

Lemma net_opp n q x j : net n q (fun i => - x i) j = - net n q x j.
Proof.
  unfold net. replace (- sum n _) with (-1 * sum n (fun i => x i * q i j - x j * q j i)) by lra.
  rewrite <- sum_scale. apply sum_ext; intros; ring.
Qed.

(** * The theorem *)

Section Supersolution.

Variables (n : nat) (q : nat -> nat -> R) (h : nat -> R) (c : R) (r : nat).
Hypothesis q_nonneg : rates n q.
Hypothesis h_nonneg : forall i, (i < n)%nat -> 0 <= h i.
Hypothesis c_pos : 0 < c.
Hypothesis falls : forall i, (i < n)%nat -> i <> r -> drift n q h i <= - c.

Lemma one_sided d :
  d r <= 0 -> c * sum n (fun i => pos (d i)) <= sum n (fun j => neg (net n q d j) * h j).
Proof.
  intros D. set (p := fun i => pos (d i)).
  assert (N : forall j, (j < n)%nat -> - neg (net n q d j) <= net n q p j).
  { intros j L. destruct (pos_neg (net n q d j)) as (E & _ & _ & F).
    destruct (Rle_lt_dec (d j) 0) as [G|G].
    - assert (Z : p j = 0) by (unfold p, pos; rewrite Rmax_right; lra).
      apply Rle_trans with 0; [lra|]. unfold net. apply sum_nonneg; intros i Li.
      rewrite Z. assert (0 <= p i) by apply pos_neg.
      assert (0 <= p i * q i j) by (apply Rmult_le_pos; auto). lra.
    - assert (Z : p j = d j) by (unfold p, pos; rewrite Rmax_left; lra).
      apply Rle_trans with (net n q d j).
      + assert (0 <= pos (net n q d j)) by apply pos_neg. lra.
      + unfold net. apply sum_le; intros i Li. rewrite Z.
        assert (d i <= p i) by apply Rmax_l.
        assert (d i * q i j <= p i * q i j) by (apply Rmult_le_compat_r; auto). lra. }
  assert (A : - sum n (fun j => neg (net n q d j) * h j) <= sum n (fun j => net n q p j * h j)).
  { replace (- sum n _) with (-1 * sum n (fun j => neg (net n q d j) * h j)) by lra.
    rewrite <- sum_scale. apply sum_le; intros j L.
    replace (-1 * _) with (- neg (net n q d j) * h j) by ring.
    apply Rmult_le_compat_r; auto. }
  assert (B : sum n (fun i => p i * drift n q h i) <= - c * sum n p).
  { rewrite <- sum_scale. apply sum_le; intros i L.
    destruct (Nat.eq_dec i r) as [->|E].
    - replace (p r) with 0 by (unfold p, pos; rewrite Rmax_right; lra). lra.
    - rewrite Rmult_comm. apply Rmult_le_compat_r; [apply pos_neg|auto]. }
  rewrite adjoint in A. fold p. lra.
Qed.

(** [rest]: the larger one-sided residual of [x], weighted by [h]. *)

Definition rest (x : nat -> R) : R :=
  Rmax (sum n (fun j => pos (net n q x j) * h j)) (sum n (fun j => neg (net n q x j) * h j)) / c.

Lemma parts x p :
  stationary n q p ->
  let d i := x i - sum n x * p i in
  sum n (fun i => pos (d i)) = sum n (fun i => neg (d i)) /\ sum n (fun i => pos (d i)) <= rest x.
Proof.
  intros [P M E] d.
  assert (Z : sum n (fun i => pos (d i)) = sum n (fun i => neg (d i))).
  { assert (sum n d = 0) by (unfold d; rewrite sum_minus, sum_scale, M; lra).
    assert (sum n d = sum n (fun i => pos (d i)) - sum n (fun i => neg (d i))).
    { rewrite <- sum_minus. apply sum_ext; intros; apply pos_neg. }
    lra. }
  split; [exact Z|].
  assert (N : forall j, (j < n)%nat -> net n q d j = net n q x j).
  { intros j L. unfold d. rewrite net_minus, E by assumption. lra. }
  unfold rest. apply Rmult_le_reg_l with c; [assumption|].
  replace (c * (_ / c)) with
    (Rmax (sum n (fun j => pos (net n q x j) * h j)) (sum n (fun j => neg (net n q x j) * h j)))
    by (field; lra).
  destruct (Rle_lt_dec (d r) 0) as [D|D].
  - eapply Rle_trans; [apply one_sided, D|]. eapply Rle_trans; [|apply Rmax_r].
    right. apply sum_ext; intros j L. rewrite N by assumption. reflexivity.
  - rewrite Z. eapply Rle_trans; [apply (one_sided (fun i => - d i)); lra|].
    eapply Rle_trans; [|apply Rmax_l].
    right. apply sum_ext; intros j L. rewrite net_opp, N, neg_opp by assumption. reflexivity.
Qed.

(** Half of the L1 distance to [m p], with [m] the mass of [x]. *)

Theorem centred x p :
  stationary n q p -> / 2 * sum n (fun i => Rabs (x i - sum n x * p i)) <= rest x.
Proof.
  intros St. destruct (parts x p St) as (Z & B).
  rewrite (sum_ext n (fun i => Rabs _) (fun i => pos (x i - sum n x * p i) + neg (x i - sum n x * p i)))
    by (intros; apply pos_neg).
  rewrite sum_plus. lra.
Qed.

Theorem total_variation x p :
  stationary n q p ->
  / 2 * sum n (fun i => Rabs (x i - p i)) <= rest x + / 2 * Rabs (sum n x - 1).
Proof.
  intros St. assert (C := centred x p St). destruct St as [P M _].
  assert (T : sum n (fun i => Rabs (x i - p i))
              <= sum n (fun i => Rabs (x i - sum n x * p i) + Rabs (sum n x - 1) * p i)).
  { apply sum_le; intros i L.
    replace (x i - p i) with ((x i - sum n x * p i) + (sum n x - 1) * p i) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult, (Rabs_right (p i)) by (apply Rle_ge; auto).
    lra. }
  rewrite sum_plus, sum_scale, M in T. lra.
Qed.

(** One supersolution allows for one vector only: not even [p' >= 0] is needed, nor irreducibility. *)

Theorem uniqueness p p' :
  stationary n q p -> sum n p' = 1 -> (forall j, (j < n)%nat -> net n q p' j = 0) ->
  forall i, (i < n)%nat -> p' i = p i.
Proof.
  intros St M E i L. assert (C := centred p' p St). rewrite M in C.
  assert (rest p' = 0) as Z.
  { unfold rest. rewrite !sum_zero.
    - rewrite Rmax_left; lra.
    - intros j Lj. rewrite E by assumption. unfold neg. rewrite Rmax_right; lra.
    - intros j Lj. rewrite E by assumption. unfold pos. rewrite Rmax_right; lra. }
  assert (A : Rabs (p' i - 1 * p i) = 0).
  { apply (sum_nonneg_zero n (fun i => Rabs (p' i - 1 * p i))); [intros; apply Rabs_pos|lra|assumption]. }
  destruct (Req_dec (p' i - 1 * p i) 0) as [G|G]; [lra|].
  apply Rabs_no_R0 in G. contradiction.
Qed.

(** A mean, corrected by the solution [g] of any equation. *)

Theorem mean_near x p f g lo hi :
  stationary n q p ->
  (forall i, (i < n)%nat -> lo <= f i + drift n q g i <= hi) ->
  Rabs (sum n (fun i => x i * (f i + drift n q g i)) - sum n x * sum n (fun i => p i * f i))
  <= (hi - lo) * rest x.
Proof.
  intros St B. destruct (parts x p St) as (Z & W). destruct St as [P M E].
  set (rho := fun i => f i + drift n q g i) in *. set (d := fun i => x i - sum n x * p i) in *.
  change (sum n (fun i => pos (d i)) = sum n (fun i => neg (d i))) in Z.
  change (sum n (fun i => pos (d i)) <= rest x) in W.
  assert (F : sum n (fun i => p i * f i) = sum n (fun i => p i * rho i)).
  { unfold rho. rewrite (sum_ext n (fun i => p i * (f i + _)) (fun i => p i * f i + p i * drift n q g i))
      by (intros; ring).
    rewrite sum_plus, <- adjoint, (sum_zero n (fun j => _ * g j)); [lra|].
    intros j L. rewrite E by assumption. ring. }
  assert (G : sum n (fun i => x i * (f i + drift n q g i)) - sum n x * sum n (fun i => p i * f i)
              = sum n (fun i => d i * rho i)).
  { rewrite F, <- sum_scale, <- sum_minus. apply sum_ext; intros. unfold d, rho. ring. }
  rewrite G.
  assert (U : sum n (fun i => d i * rho i) <= sum n (fun i => hi * pos (d i) - lo * neg (d i))).
  { apply sum_le; intros i L. destruct (pos_neg (d i)) as (D & _ & S & T). destruct (B i L).
    rewrite D at 1.
    assert (pos (d i) * rho i <= pos (d i) * hi) by (apply Rmult_le_compat_l; assumption).
    assert (neg (d i) * lo <= neg (d i) * rho i) by (apply Rmult_le_compat_l; assumption). lra. }
  assert (V : sum n (fun i => lo * pos (d i) - hi * neg (d i)) <= sum n (fun i => d i * rho i)).
  { apply sum_le; intros i L. destruct (pos_neg (d i)) as (D & _ & S & T). destruct (B i L).
    rewrite D at 3.
    assert (pos (d i) * lo <= pos (d i) * rho i) by (apply Rmult_le_compat_l; assumption).
    assert (neg (d i) * rho i <= neg (d i) * hi) by (apply Rmult_le_compat_l; assumption). lra. }
  rewrite sum_minus, !sum_scale, <- Z in U. rewrite sum_minus, !sum_scale, <- Z in V.
  destruct n as [|k] eqn:K; [simpl in M; lra|].
  assert (lo <= hi) by (destruct (B 0%nat ltac:(lia)); lra).
  assert ((hi - lo) * sum (S k) (fun i => pos (d i)) <= (hi - lo) * rest x)
    by (apply Rmult_le_compat_l; [lra|exact W]).
  apply Rabs_le. lra.
Qed.

(** The largest error of the probability of any set [A] of states. *)

Theorem every_event x p (A : nat -> bool) :
  stationary n q p ->
  Rabs (sum n (fun i => if A i then x i - p i else 0)) <= rest x + Rabs (sum n x - 1).
Proof.
  intros St.
  assert (N := mean_near x p (fun i => if A i then 1 else 0) (fun _ => 0) 0 1 St).
  assert (D : forall i, drift n q (fun _ => 0) i = 0).
  { intros. apply sum_zero; intros. ring. }
  assert (T := N ltac:(intros i _; rewrite D; destruct (A i); lra)). clear N.
  rewrite (sum_ext n (fun i => x i * _) (fun i => if A i then x i else 0)) in T
    by (intros i _; rewrite D; destruct (A i); ring).
  rewrite (sum_ext n (fun i => p i * _) (fun i => if A i then p i else 0)) in T
    by (intros i _; destruct (A i); ring).
  destruct St as [P M _].
  assert (0 <= sum n (fun i => if A i then p i else 0) <= 1) as Q.
  { split; [apply sum_nonneg; intros i L; destruct (A i); [auto|lra]|].
    rewrite <- M. apply sum_le; intros i L. destruct (A i); [lra|auto]. }
  rewrite (sum_ext n (fun i => if A i then x i - p i else 0)
    (fun i => (if A i then x i else 0) - (if A i then p i else 0))) by (intros i _; destruct (A i); ring).
  rewrite sum_minus. set (xA := sum n (fun i => if A i then x i else 0)) in *.
  set (pA := sum n (fun i => if A i then p i else 0)) in *.
  replace (xA - pA) with ((xA - sum n x * pA) + (sum n x - 1) * pA) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite (Rabs_mult _ pA), (Rabs_right pA) by lra.
  assert (Rabs (sum n x - 1) * pA <= Rabs (sum n x - 1) * 1)
    by (apply Rmult_le_compat_l; [apply Rabs_pos|lra]).
  lra.
Qed.

End Supersolution.

(** Odoni's bounds: they need neither a supersolution nor a vector, and hold for every stationary distribution. *)

Theorem mean_between n q p f g lo hi :
  stationary n q p ->
  (forall i, (i < n)%nat -> lo <= f i + drift n q g i <= hi) ->
  lo <= sum n (fun i => p i * f i) <= hi.
Proof.
  intros [P M E] B.
  assert (F : sum n (fun i => p i * f i) = sum n (fun i => p i * (f i + drift n q g i))).
  { rewrite (sum_ext n (fun i => p i * (f i + _)) (fun i => p i * f i + p i * drift n q g i))
      by (intros; ring).
    rewrite sum_plus, <- adjoint, (sum_zero n (fun j => _ * g j)); [lra|].
    intros j L. rewrite E by assumption. ring. }
  rewrite F. split.
  - replace lo with (lo * sum n p) by (rewrite M; ring). rewrite <- sum_scale.
    apply sum_le; intros i L. rewrite Rmult_comm. apply Rmult_le_compat_l; [auto|apply B, L].
  - replace hi with (hi * sum n p) by (rewrite M; ring). rewrite <- sum_scale.
    apply sum_le; intros i L. rewrite (Rmult_comm hi). apply Rmult_le_compat_l; [auto|apply B, L].
Qed.

(** * Existence: censoring the last state *)

Lemma exists_stationary_of_weights n q w :
  (forall i, (i < n)%nat -> 0 <= w i) -> 0 < sum n w -> (forall j, (j < n)%nat -> net n q w j = 0) ->
  exists p, stationary n q p.
Proof.
  intros W M E. exists (fun i => / sum n w * w i). split.
  - intros i L. apply Rmult_le_pos; [left; apply Rinv_0_lt_compat, M|auto].
  - rewrite sum_scale. field. lra.
  - intros j L. replace 0 with (/ sum n w * net n q w j) by (rewrite E by assumption; ring).
    unfold net. rewrite <- sum_scale. apply sum_ext; intros; ring.
Qed.

Theorem existence n q : (0 < n)%nat -> rates n q -> exists p, stationary n q p.
Proof.
  intros N. destruct n as [|k]; [lia|]. clear N. revert q.
  induction k as [|k IH]; intros q Q.
  - exists (fun _ => 1). split; [intros; lra|simpl; lra|].
    intros j L. replace j with 0%nat by lia. unfold net. simpl. ring.
  - set (m := S k) in *. set (exit := sum m (fun j => q m j)).
    assert (Out : 0 <= exit) by (apply sum_nonneg; intros; apply Q; lia).
    destruct (Req_dec exit 0) as [Z|Z].
    + (* the last state is absorbing *)
      assert (K : forall j, (j < m)%nat -> q m j = 0).
      { intros j L. apply (sum_nonneg_zero m (fun j => q m j)); [intros; apply Q; lia|fold exit; lra|exact L]. }
      apply exists_stationary_of_weights with (w := fun i => if Nat.eqb i m then 1 else 0).
      * intros i _. destruct (Nat.eqb i m); lra.
      * simpl sum. rewrite Nat.eqb_refl, (sum_zero k), (proj2 (Nat.eqb_neq k m)); [lra|lia|].
        intros i L. rewrite (proj2 (Nat.eqb_neq i m)) by lia. reflexivity.
      * intros j L. apply sum_zero; intros i Li.
        destruct (Nat.eqb_spec i m) as [->|A], (Nat.eqb_spec j m) as [->|B]; try ring.
        -- rewrite K by lia. ring.
        -- rewrite K by lia. ring.
    + (* the chain watched outside of the last state *)
      set (q' := fun i j => q i j + q i m * q m j / exit).
      destruct (IH q') as (p & [P M E]).
      { intros i j Li Lj. unfold q'.
        assert (0 <= q i j) by (apply Q; lia).
        assert (0 <= q i m * q m j) by (apply Rmult_le_pos; apply Q; lia).
        assert (0 <= q i m * q m j / exit)
          by (apply Rmult_le_pos; [assumption|left; apply Rinv_0_lt_compat; lra]).
        lra. }
      set (last := sum m (fun i => p i * q i m) / exit).
      assert (Last : 0 <= last).
      { apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat; lra].
        apply sum_nonneg; intros. apply Rmult_le_pos; [auto|apply Q; lia]. }
      set (w := fun i => if Nat.eqb i m then last else p i).
      assert (Wm : w m = last) by (unfold w; rewrite Nat.eqb_refl; reflexivity).
      assert (Wi : forall i, (i < m)%nat -> w i = p i).
      { intros i L. unfold w. rewrite (proj2 (Nat.eqb_neq i m)) by lia. reflexivity. }
      assert (Sum : forall f, sum (S m) f = sum m f + f m) by reflexivity.
      apply exists_stationary_of_weights with w.
      * intros i L. unfold w. destruct (Nat.eqb_spec i m); [assumption|apply P; lia].
      * rewrite Sum, Wm, (sum_ext m w p) by exact Wi. lra.
      * intros j L. unfold net. rewrite Sum, Wm.
        destruct (Nat.eq_dec j m) as [->|D].
        -- rewrite Wm, (sum_ext m _ (fun i => p i * q i m - last * q m i))
             by (intros i Li; rewrite Wi by assumption; reflexivity).
           rewrite sum_minus, sum_scale. change (sum m (q m)) with exit. unfold last. field. exact Z.
        -- assert (Lj : (j < m)%nat) by lia. rewrite Wi by assumption.
           rewrite <- (E j Lj). unfold net, q'.
           rewrite (sum_ext m (fun i => w i * _ - _) (fun i => p i * q i j - p j * q j i))
             by (intros i Li; rewrite Wi by assumption; reflexivity).
           rewrite (sum_ext m (fun i => p i * (q i j + _) - _)
             (fun i => (p i * q i j - p j * q j i)
                       + (q m j / exit * (p i * q i m) - p j * q j m / exit * q m i)))
             by (intros; field; exact Z).
           rewrite sum_plus, (sum_minus m (fun i => q m j / exit * (p i * q i m))), !sum_scale.
           change (sum m (q m)) with exit. unfold last. field. exact Z.
Qed.

(** All together, as docs/markov-bound.md states it. *)

Theorem exactly_one n q h c r :
  rates n q -> (forall i, (i < n)%nat -> 0 <= h i) -> 0 < c ->
  (forall i, (i < n)%nat -> i <> r -> drift n q h i <= - c) -> (0 < n)%nat ->
  exists p, stationary n q p /\ forall p', stationary n q p' -> forall i, (i < n)%nat -> p' i = p i.
Proof.
  intros Q H C D N. destruct (existence n q N Q) as (p & St). exists p. split; [exact St|].
  intros p' [_ M E]. eapply uniqueness; eassumption.
Qed.

(** * Chains with several recurrent classes *)

(** The uniformised chain with [L] steps per unit of time: [step w] is P w for P = I + Q / L, and [value k f i] the mean
    sum of [f] over the first [k] states of a path from [i].  Its long-run mean is that of the chain. *)

Section LongRun.

Variables (n : nat) (q : nat -> nat -> R) (L : R).
Hypothesis q_nonneg : rates n q.
Hypothesis L_pos : 0 < L.
Hypothesis exits : forall i, (i < n)%nat -> sum n (q i) <= L.

Definition step (w : nat -> R) (i : nat) : R := w i + drift n q w i / L.

Fixpoint steps (k : nat) (w : nat -> R) : nat -> R :=
  match k with O => w | S m => step (steps m w) end.

Fixpoint value (k : nat) (f : nat -> R) : nat -> R :=
  match k with O => fun _ => 0 | S m => fun i => f i + step (value m f) i end.

Lemma drift_linear a b v w i :
  drift n q (fun j => a * v j + b * w j) i = a * drift n q v i + b * drift n q w i.
Proof. unfold drift. rewrite <- !sum_scale, <- sum_plus. apply sum_ext; intros; ring. Qed.

Lemma step_linear a b v w i : step (fun j => a * v j + b * w j) i = a * step v i + b * step w i.
Proof. unfold step. rewrite drift_linear. field. lra. Qed.

Lemma step_monotone v w :
  (forall i, (i < n)%nat -> v i <= w i) -> forall i, (i < n)%nat -> step v i <= step w i.
Proof.
  intros M i I. unfold step.
  assert (D : drift n q w i - drift n q v i >= - (w i - v i) * L).
  { unfold drift. rewrite <- sum_minus.
    rewrite (sum_ext n _ (fun j => q i j * (w j - v j) - (w i - v i) * q i j)) by (intros; ring).
    rewrite sum_minus, sum_scale.
    assert (0 <= sum n (fun j => q i j * (w j - v j))).
    { apply sum_nonneg; intros j J. apply Rmult_le_pos; [apply q_nonneg; assumption|]. specialize (M j J). lra. }
    assert ((w i - v i) * sum n (q i) <= (w i - v i) * L).
    { apply Rmult_le_compat_l; [specialize (M i I); lra|apply exits, I]. }
    lra. }
  assert (w i - v i + (drift n q w i - drift n q v i) / L >= 0).
  { apply Rle_ge. apply Rmult_le_reg_r with L; [exact L_pos|].
    replace ((w i - v i + (drift n q w i - drift n q v i) / L) * L)
      with ((w i - v i) * L + (drift n q w i - drift n q v i)) by (field; lra). lra. }
  replace (drift n q w i / L) with (drift n q v i / L + (drift n q w i - drift n q v i) / L) by (field; lra).
  lra.
Qed.

Lemma step_constant a i : step (fun _ => a) i = a.
Proof.
  unfold step, drift. rewrite (sum_zero n (fun j => q i j * (a - a))) by (intros; ring). field. lra.
Qed.

Lemma steps_bounded g M :
  (forall i, (i < n)%nat -> g i <= M) -> forall k i, (i < n)%nat -> steps k g i <= M.
Proof.
  intros B. induction k as [|k IH]; intros i I; simpl; [apply B, I|].
  rewrite <- (step_constant M i). apply step_monotone; assumption.
Qed.

Lemma steps_bounded_below g M :
  (forall i, (i < n)%nat -> M <= g i) -> forall k i, (i < n)%nat -> M <= steps k g i.
Proof.
  intros B. induction k as [|k IH]; intros i I; simpl; [apply B, I|].
  rewrite <- (step_constant M i). apply step_monotone; assumption.
Qed.

Lemma value_opp k f : forall i, value k (fun j => - f j) i = - value k f i.
Proof.
  induction k as [|k IH]; intros i; simpl; [ring|]. unfold step.
  assert (E : drift n q (value k (fun j => - f j)) i = - drift n q (value k f) i).
  { unfold drift. replace (- sum n _) with (-1 * sum n (fun j => q i j * (value k f j - value k f i))) by ring.
    rewrite <- sum_scale. apply sum_ext; intros. rewrite !IH. ring. }
  rewrite E, IH. field. lra.
Qed.

(** One side: if w does not rise and f + Q g <= w. *)
Lemma value_upper f g w :
  (forall i, (i < n)%nat -> drift n q w i <= 0) ->
  (forall i, (i < n)%nat -> f i + drift n q g i <= w i) ->
  forall k i, (i < n)%nat -> value k f i <= INR k * w i + L * (g i - steps k g i).
Proof.
  intros W B. induction k as [|k IH]; intros i I.
  - simpl. lra.
  - cbn [value steps]. rewrite S_INR.
    assert (U := step_monotone (value k f)
      (fun j => INR k * w j + L * (1 * g j + (-1) * steps k g j)) ).
    assert (U' : step (value k f) i <= step (fun j => INR k * w j + L * (1 * g j + (-1) * steps k g j)) i).
    { apply U; [|exact I]. intros j J. specialize (IH j J). lra. }
    rewrite step_linear, step_linear in U'.
    assert (Sw : step w i <= w i).
    { unfold step. specialize (W i I). assert (drift n q w i / L <= 0); [|lra].
      apply Rmult_le_reg_r with L; [exact L_pos|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
    assert (K : INR k * step w i <= INR k * w i) by (apply Rmult_le_compat_l; [apply pos_INR|exact Sw]).
    assert (G : f i <= w i - L * (step g i - g i)).
    { specialize (B i I). unfold step. replace (L * (g i + drift n q g i / L - g i)) with (drift n q g i) by (field; lra). lra. }
    lra.
Qed.

(** If |Q u| <= - Q e and |f + Q g - u| <= e in every state, then the long-run mean of f from each state i is within
    e i of u i.  Nothing is assumed of classes, and no stationary distribution enters. *)
Theorem long_run f g u e :
  (forall i, (i < n)%nat -> Rabs (drift n q u i) <= - drift n q e i) ->
  (forall i, (i < n)%nat -> Rabs (f i + drift n q g i - u i) <= e i) ->
  exists c, forall k i, (0 < k)%nat -> (i < n)%nat -> Rabs (value k f i / INR k - u i) <= e i + c / INR k.
Proof.
  intros D B.
  set (M := sum n (fun j => Rabs (g j))).
  assert (Gm : forall i, (i < n)%nat -> Rabs (g i) <= M).
  { intros i I. unfold M. clear - I. induction n as [|m IH]; [lia|]. simpl.
    assert (0 <= sum m (fun j => Rabs (g j))) by (apply sum_nonneg; intros; apply Rabs_pos).
    assert (0 <= Rabs (g m)) by apply Rabs_pos.
    destruct (Nat.eq_dec i m) as [->|Ne]; [lra|]. assert (i < m)%nat by lia. specialize (IH H1). lra. }
  assert (Both : forall (s : R), s = 1 \/ s = -1 -> forall k i, (i < n)%nat ->
    s * value k f i <= INR k * (s * u i + e i) + L * (2 * M)).
  { intros s Hs k i I.
    assert (V := value_upper (fun j => s * f j) (fun j => s * g j) (fun j => s * u j + 1 * e j)).
    assert (C1 : forall j, (j < n)%nat -> drift n q (fun j => s * u j + 1 * e j) j <= 0).
    { intros j J. rewrite drift_linear. specialize (D j J).
      assert (T := Rle_abs (drift n q u j)). assert (T' := Rle_abs (- drift n q u j)). rewrite Rabs_Ropp in T'.
      destruct Hs as [->| ->]; lra. }
    assert (C2 : forall j, (j < n)%nat -> s * f j + drift n q (fun j => s * g j) j <= s * u j + 1 * e j).
    { intros j J. specialize (B j J).
      assert (E : drift n q (fun j => s * g j) j = s * drift n q g j).
      { unfold drift. rewrite <- sum_scale. apply sum_ext; intros; ring. }
      rewrite E.
      assert (T := Rle_abs (f j + drift n q g j - u j)). assert (T' := Rle_abs (- (f j + drift n q g j - u j))).
      rewrite Rabs_Ropp in T'. destruct Hs as [->| ->]; lra. }
    specialize (V C1 C2 k i I). cbv beta in V.
    assert (G1 : s * g i <= M).
    { specialize (Gm i I). assert (T := Rle_abs (g i)). assert (T' := Rle_abs (- g i)). rewrite Rabs_Ropp in T'.
      destruct Hs as [->| ->]; lra. }
    assert (G2 : - M <= steps k (fun j => s * g j) i).
    { apply steps_bounded_below; [|exact I]. intros j J. specialize (Gm j J).
      assert (T := Rle_abs (g j)). assert (T' := Rle_abs (- g j)). rewrite Rabs_Ropp in T'.
      destruct Hs as [->| ->]; lra. }
    assert (Vs : value k (fun j => s * f j) i = s * value k f i).
    { destruct Hs as [->| ->].
      - rewrite Rmult_1_l. assert (Ex : forall k' i', value k' (fun j => 1 * f j) i' = value k' f i').
        { induction k' as [|k' IH]; intros i'; simpl; [reflexivity|]. unfold step, drift.
          rewrite IH, (sum_ext n _ (fun j => q i' j * (value k' f j - value k' f i'))) by (intros; rewrite !IH; ring). ring. }
        apply Ex.
      - replace (-1 * value k f i) with (- value k f i) by ring. rewrite <- value_opp.
        assert (Ex : forall k' i', value k' (fun j => -1 * f j) i' = value k' (fun j => - f j) i').
        { induction k' as [|k' IH]; intros i'; simpl; [reflexivity|]. unfold step, drift.
          rewrite IH, (sum_ext n _ (fun j => q i' j * (value k' (fun j => - f j) j - value k' (fun j => - f j) i')))
            by (intros; rewrite !IH; ring). ring. }
        apply Ex. }
    rewrite Vs in V.
    assert (L * (s * g i - steps k (fun j => s * g j) i) <= L * (2 * M)) by (apply Rmult_le_compat_l; lra).
    lra. }
  exists (L * (2 * M)). intros k i K I. assert (P : 0 < INR k) by (apply lt_0_INR, K).
  assert (U := Both 1 (or_introl eq_refl) k i I). assert (Lo := Both (-1) (or_intror eq_refl) k i I).
  apply Rabs_le. split; apply Rmult_le_reg_r with (INR k); try exact P.
  - replace ((value k f i / INR k - u i) * INR k) with (value k f i - INR k * u i) by (field; lra).
    replace (- (e i + L * (2 * M) / INR k) * INR k) with (- (INR k * e i + L * (2 * M))) by (field; lra). lra.
  - replace ((value k f i / INR k - u i) * INR k) with (value k f i - INR k * u i) by (field; lra).
    replace ((e i + L * (2 * M) / INR k) * INR k) with (INR k * e i + L * (2 * M)) by (field; lra). lra.
Qed.

End LongRun.
