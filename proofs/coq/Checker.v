(** An executable checker of certificates, on integers alone, and its soundness by Theory.v.

    Vectors are binary tries in Coq, where an access takes O(log n), and arrays in the extracted program.  Only [get] and
    [scatter] look into them, so that only these are replaced there. *)

Require Import Reals Lra Lia ZArith NArith List Bool FMapPositive.
Require Import Theory.
Import ListNotations.
Open Scope Z_scope.

(** * The checker *)

(** States are numbered from one, as keys of tries. *)

Record transition := Transition { target : positive; rate : Z }.

(** [rows] has the transitions out of each state.  State [i] has the probability [X i / scale], and [Y i / scale] in the
    better vector.  [H] is h up to a factor.  [rate] counts [unit_num / unit_den].  Claimed is the bound
    [bound_num / bound_den]. *)
Record certificate := Certificate {
  rows : list (list transition); X : list Z; Y : list Z; H : list Z; unit_num : Z; unit_den : Z;
  scale : Z; reference : positive; bound_num : Z; bound_den : Z }.

(** A function f = F / f_scale of the state with g = G / g_scale.  Claimed is that the mean of f is between
    low_num / low_den and high_num / high_den. *)
Record mean := Mean {
  F : list Z; G : list Z; f_scale : Z; g_scale : Z; low_num : Z; low_den : Z; high_num : Z; high_den : Z }.

Definition vector := PositiveMap.t Z.

Definition empty := PositiveMap.empty Z.

Definition get (v : vector) (k : positive) : Z := match PositiveMap.find k v with Some z => z | None => 0 end.

Definition bump (v : vector) (k : positive) (w : Z) : vector := PositiveMap.add k (get v k + w) v.

Fixpoint receive (sent : list (positive * Z)) (v : vector) : vector :=
  match sent with [] => v | (k, w) :: rest => receive rest (bump v k w) end.

Fixpoint scatter_from {A : Type} (f : positive -> A -> list (positive * Z)) (l : list A) (k : positive) (v : vector) : vector :=
  match l with [] => v | a :: rest => scatter_from f rest (Pos.succ k) (receive (f k a) v) end.

(** What the items of a list send to each state, added; item [a] of state [k] sends [f k a]. *)
Definition scatter {A : Type} (f : positive -> A -> list (positive * Z)) (l : list A) : vector := scatter_from f l 1 empty.

Definition of_list (l : list Z) : vector := scatter (fun k z => [(k, z)]) l.

(** x Q and Q h, in units of the rates. *)

Fixpoint send (row : list transition) (k : positive) (here out : Z) (sent : list (positive * Z)) : list (positive * Z) :=
  match row with
  | [] => (k, - out) :: sent
  | Transition t a :: rest => let w := here * a in send rest k here (out + w) ((t, w) :: sent)
  end.

Definition flows (rs : list (list transition)) (x : vector) : vector :=
  scatter (fun k row => send row k (get x k) 0 []) rs.

Fixpoint row_drift (row : list transition) (h : vector) (here from : Z) : Z :=
  match row with
  | [] => from
  | Transition t a :: rest => row_drift rest h here (from + a * (get h t - here))
  end.

Definition drifts (rs : list (list transition)) (h : vector) : vector :=
  scatter (fun k row => [(k, row_drift row h (get h k) 0)]) rs.

(** Loops that need no stack: the length of a list, the key after those of [n] states, and what is taken over the
    states [k], ..., [k + n - 1]. *)

Fixpoint size {A : Type} (l : list A) (n : nat) : nat := match l with [] => n | _ :: t => size t (S n) end.

Fixpoint after (n : nat) (k : positive) : positive := match n with O => k | S m => after m (Pos.succ k) end.

Fixpoint zsum (n : nat) (k : positive) (f : positive -> Z) (from : Z) : Z :=
  match n with O => from | S m => zsum m (Pos.succ k) f (from + f k) end.

Fixpoint every (n : nat) (k : positive) (f : positive -> bool) : bool :=
  match n with O => true | S m => if f k then every m (Pos.succ k) f else false end.

Fixpoint extreme (n : nat) (k : positive) (op : Z -> Z -> Z) (f : positive -> option Z) (best : option Z) : option Z :=
  match n with
  | O => best
  | S m => extreme m (Pos.succ k) op f
      (match f k, best with Some a, Some b => Some (op a b) | Some a, None => Some a | None, _ => best end)
  end.

Definition or_one (o : option Z) : Z := match o with Some z => z | None => Z.succ 0 end.

(** The least fall of h outside of the reference; one for a single state. *)
Definition smallest_fall (n : nat) (r : positive) (d : vector) : Z :=
  or_one (extreme n 1 Z.min (fun k => if Pos.eqb k r then None else Some (- get d k)) None).

Definition one_sided_max (n : nat) (net h : vector) : Z :=
  Z.max (zsum n 1 (fun k => Z.max (get net k) 0 * get h k) 0)
        (zsum n 1 (fun k => Z.max (- get net k) 0 * get h k) 0).

(** Whether transitions lead to the [n] states, with rates >= 0. *)
Definition in_range (n : nat) (rs : list (list transition)) : bool :=
  let past := after n 1 in forallb (forallb (fun t => Pos.ltb (target t) past && (0 <=? rate t))%bool) rs.

(** The conditions of the theorem; [d] is Q h. *)
Definition proves (n : nat) (rs : list (list transition)) (h d : vector) (r : positive) (c : Z) : bool :=
  (match n with O => false | S _ => true end && in_range n rs
   && every n 1 (fun k => 0 <=? get h k) && (0 <? c)
   && every n 1 (fun k => Pos.eqb k r || (get d k <=? - c)))%bool.

(** What a certificate proves whatever the functions are: the number of states, the better vector and its mass, c, and
    the residual weighted by h. *)
Record evidence := Evidence {
  valid : bool; states : nat; better : vector; mass : Z; fall : Z; residual : Z }.

Definition evaluate (C : certificate) : evidence :=
  let n := size (rows C) 0 in
  let y := of_list (Y C) in let h := of_list (H C) in
  let d := drifts (rows C) h in
  let c := smallest_fall n (reference C) d in
  Evidence (proves n (rows C) h d (reference C) c) n y (zsum n 1 (get y) 0) c
    (one_sided_max n (flows (rows C) y) h).

Definition check_bound (C : certificate) (E : evidence) : bool :=
  let n := states E in let y := better E in let c := fall E in let x := of_list (X C) in
  let distance := Z.max (zsum n 1 (fun k => Z.max (get x k - get y k) 0) 0)
                        (zsum n 1 (fun k => Z.max (- (get x k - get y k)) 0) 0) in
  (valid E && (0 <? scale C) && (0 <? unit_num C) && (0 <? unit_den C) && (0 <? bound_den C)
   && ((c * distance + residual E + c * Z.abs (mass E - scale C)) * bound_den C
       <=? bound_num C * c * scale C))%bool.

Definition check_mean (C : certificate) (E : evidence) (M : mean) : bool :=
  let n := states E in let y := better E in let c := fall E in let m := mass E in
  let f := of_list (F M) in let d := drifts (rows C) (of_list (G M)) in
  let a := g_scale M * unit_den C in let b := f_scale M * unit_num C in
  let den := f_scale M * a in
  let rho k := get f k * a + b * get d k in
  let lo := or_one (extreme n 1 Z.min (fun k => Some (rho k)) None) in
  let hi := or_one (extreme n 1 Z.max (fun k => Some (rho k)) None) in
  let value := zsum n 1 (fun k => get y k * rho k) 0 in
  let half := residual E * (hi - lo) in
  ((0 <? f_scale M) && (0 <? g_scale M) && (0 <? low_den M) && (0 <? high_den M)
   && every n 1 (fun k => (lo <=? rho k) && (rho k <=? hi))
   && ((low_num M * den <=? lo * low_den M)
       || (0 <? m) && (low_num M * den * m * c <=? (c * value - half) * low_den M))
   && ((hi * high_den M <=? high_num M * den)
       || (0 <? m) && ((c * value + half) * high_den M <=? high_num M * den * m * c)))%bool.

Definition accepts (C : certificate) (Ms : list mean) : bool :=
  let E := evaluate C in (check_bound C E && forallb (check_mean C E) Ms)%bool.

(** Where a chain has several recurrent classes: a function f with g as above, and claimed is that the long-run mean of
    f from the state [reference] is between low_num / low_den and high_num / high_den.  From each state [i] it differs
    from [gain i / gain_scale] by at most [slack i / gain_scale].  Of the certificate, [rows], the unit of the rates and
    [reference] alone are used. *)
Record long_run_mean := LongRunMean { average : mean; gain : list Z; slack : list Z; gain_scale : Z }.

Definition check_long_run (C : certificate) (L : long_run_mean) : bool :=
  let rs := rows C in let n := size rs 0 in let M := average L in
  let f := of_list (F M) in let u := of_list (gain L) in let e := of_list (slack L) in
  let dg := drifts rs (of_list (G M)) in let du := drifts rs u in let de := drifts rs e in
  let a := g_scale M * unit_den C in let b := f_scale M * unit_num C in
  let den := f_scale M * a in let s := reference C in
  (in_range n rs && Pos.ltb s (after n 1) && (0 <? unit_num C) && (0 <? unit_den C) && (0 <? f_scale M)
   && (0 <? g_scale M) && (0 <? gain_scale L) && (0 <? low_den M) && (0 <? high_den M)
   && every n 1 (fun k => Z.abs (get du k) <=? - get de k)
   && every n 1 (fun k => Z.abs ((get f k * a + b * get dg k) * gain_scale L - get u k * den) <=? get e k * den)
   && (low_num M * gain_scale L <=? (get u s - get e s) * low_den M)
   && ((get u s + get e s) * high_den M <=? high_num M * gain_scale L))%bool.

(** * What the integers stand for *)

Open Scope R_scope.

Definition key (i : nat) : positive := Pos.of_succ_nat i.

Fixpoint rate_to (row : list transition) (j : nat) : R :=
  match row with
  | [] => 0
  | t :: rest => (if Pos.eqb (target t) (key j) then IZR (rate t) else 0) + rate_to rest j
  end.

Definition rate_sum (rs : list (list transition)) (i j : nat) : R := rate_to (nth i rs []) j.

(** The generator: rates in the unit [u], parallel transitions added. *)
Definition generator (u : R) (rs : list (list transition)) (i j : nat) : R := u * rate_sum rs i j.

Definition rate_unit (C : certificate) : R := IZR (unit_num C) / IZR (unit_den C).

Definition entry (l : list Z) (i : nat) : R := IZR (nth i l 0%Z).

Definition at_state (v : vector) (i : nat) : R := IZR (get v (key i)).

(** * Vectors and sums *)

Lemma succ_key i : Pos.succ (key i) = key (S i).
Proof. reflexivity. Qed.

Lemma key_eqb i j : Pos.eqb (key i) (key j) = Nat.eqb i j.
Proof.
  unfold key. destruct (Nat.eqb_spec i j) as [->|D]; [apply Pos.eqb_refl|].
  apply Pos.eqb_neq. intros E. apply D, SuccNat2Pos.inj, E.
Qed.

Lemma get_bump v k w l : get (bump v k w) l = (get v l + (if Pos.eqb k l then w else 0))%Z.
Proof.
  unfold bump. unfold get at 1. destruct (Pos.eqb_spec k l) as [->|D].
  - rewrite PositiveMap.gss. reflexivity.
  - rewrite PositiveMap.gso by congruence. unfold get. lia.
Qed.

Lemma at_bump v k w j : at_state (bump v k w) j = at_state v j + (if Pos.eqb k (key j) then IZR w else 0).
Proof. unfold at_state. rewrite get_bump, plus_IZR. destruct (Pos.eqb k (key j)); reflexivity. Qed.

Lemma at_empty i : at_state empty i = 0.
Proof. unfold at_state, get, empty. rewrite PositiveMap.gempty. reflexivity. Qed.

Definition received (sent : list (positive * Z)) (j : nat) : R :=
  fold_right (fun p s => (if Pos.eqb (fst p) (key j) then IZR (snd p) else 0) + s) 0 sent.

Lemma at_receive sent : forall v j, at_state (receive sent v) j = at_state v j + received sent j.
Proof.
  induction sent as [|[k w] sent IH]; intros v j; cbn [receive received fold_right fst snd]; [lra|].
  rewrite IH, at_bump. unfold received. lra.
Qed.

Lemma size_length {A : Type} (l : list A) : forall n, size l n = (length l + n)%nat.
Proof. induction l as [|z l IH]; intros n; simpl; [reflexivity|rewrite IH; lia]. Qed.

Lemma after_key n : forall i, after n (key i) = key (i + n).
Proof.
  induction n as [|n IH]; intros i; cbn [after]; [f_equal; lia|]. rewrite succ_key, IH. f_equal. lia.
Qed.

Lemma sum_first n f : sum (S n) f = f 0%nat + sum n (fun i => f (S i)).
Proof.
  induction n as [|n IH]; [simpl; lra|].
  change (sum (S n) f + f (S n) = f 0%nat + (sum n (fun i => f (S i)) + f (S n))). rewrite IH. lra.
Qed.

Lemma zsum_from n : forall i f from, IZR (zsum n (key i) f from) = IZR from + sum n (fun k => IZR (f (key (i + k)))).
Proof.
  induction n as [|n IH]; intros i f from; [simpl; lra|].
  cbn [zsum]. rewrite succ_key, IH, plus_IZR, sum_first, Nat.add_0_r, Rplus_assoc. do 2 f_equal.
  apply sum_ext; intros k _. do 3 f_equal. lia.
Qed.

Lemma zsum_real n f : IZR (zsum n 1 f 0) = sum n (fun i => IZR (f (key i))).
Proof. change 1%positive with (key 0). rewrite zsum_from, Rplus_0_l. reflexivity. Qed.

Lemma every_from n : forall i f, every n (key i) f = true -> forall k, (k < n)%nat -> f (key (i + k)) = true.
Proof.
  induction n as [|n IH]; intros i f E k L; [lia|]. cbn [every] in E.
  destruct (f (key i)) eqn:F; [|discriminate]. destruct k as [|k]; [rewrite Nat.add_0_r; exact F|].
  replace (i + S k)%nat with (S i + k)%nat by lia. apply IH; [exact E|lia].
Qed.

Lemma every_true n f : every n 1 f = true -> forall i, (i < n)%nat -> f (key i) = true.
Proof. intros E i L. exact (every_from n 0 f E i L). Qed.

Lemma max_IZR a b : IZR (Z.max a b) = Rmax (IZR a) (IZR b).
Proof.
  destruct (Z.max_spec a b) as [[L ->]|[L ->]].
  - rewrite Rmax_right; [reflexivity|apply IZR_le; lia].
  - rewrite Rmax_left; [reflexivity|apply IZR_le; lia].
Qed.

Lemma pos_IZR a : IZR (Z.max a 0) = pos (IZR a).
Proof. apply max_IZR. Qed.

Lemma neg_IZR a : IZR (Z.max (- a) 0) = neg (IZR a).
Proof. rewrite max_IZR, opp_IZR. reflexivity. Qed.

Lemma sum_at n s f : sum n (fun j => if Pos.eqb (key j) (key s) then f j else 0) = if Nat.ltb s n then f s else 0.
Proof.
  induction n as [|n IH]; [reflexivity|]. simpl. rewrite IH, key_eqb.
  destruct (Nat.eqb_spec n s) as [->|D].
  - rewrite (proj2 (Nat.ltb_ge s s)), (proj2 (Nat.ltb_lt s (S s))) by lia. lra.
  - destruct (Nat.ltb_spec s n), (Nat.ltb_spec s (S n)); try lia; lra.
Qed.

Lemma key_pred t : key (pred (Pos.to_nat t)) = t.
Proof.
  assert (P := Pos2Nat.is_pos t).
  unfold key. rewrite Pos.of_nat_succ, Nat.succ_pred_pos, Pos2Nat.id by lia. reflexivity.
Qed.

Lemma sum_single n t f :
  (Pos.to_nat t <= n)%nat -> sum n (fun j => if Pos.eqb t (key j) then f j else 0) = f (pred (Pos.to_nat t)).
Proof.
  intros L. assert (P := Pos2Nat.is_pos t). set (s := pred (Pos.to_nat t)).
  rewrite (sum_ext n _ (fun j => if Pos.eqb (key j) (key s) then f j else 0)).
  - rewrite sum_at, (proj2 (Nat.ltb_lt s n)) by (unfold s; lia). reflexivity.
  - intros j _. unfold s. rewrite key_pred, Pos.eqb_sym. reflexivity.
Qed.

Lemma at_scatter {A : Type} (f : positive -> A -> list (positive * Z)) d l j :
  at_state (scatter f l) j = sum (length l) (fun k => received (f (key k) (nth k l d)) j).
Proof.
  enough (E : forall i v, at_state (scatter_from f l (key i) v) j
    = at_state v j + sum (length l) (fun k => received (f (key (i + k)) (nth k l d)) j)).
  { unfold scatter. change 1%positive with (key 0). rewrite E, at_empty. apply Rplus_0_l. }
  induction l as [|a l IH]; intros i v; cbn [scatter_from length]; [simpl; lra|].
  rewrite succ_key, IH, at_receive, sum_first, Nat.add_0_r, <- Rplus_assoc. f_equal.
  apply sum_ext; intros k _. replace (i + S k)%nat with (S i + k)%nat by lia. reflexivity.
Qed.

(** Where each item sends one number, to its own state. *)
Lemma at_own {A : Type} (f : positive -> A -> Z) d l j :
  at_state (scatter (fun k a => [(k, f k a)]) l) j = if Nat.ltb j (length l) then IZR (f (key j) (nth j l d)) else 0.
Proof.
  rewrite (at_scatter _ d), <- (sum_at _ j (fun k => IZR (f (key k) (nth k l d)))).
  apply sum_ext; intros k _. unfold received. cbn [fold_right fst snd]. lra.
Qed.

Lemma at_of_list l j : at_state (of_list l) j = entry l j.
Proof.
  unfold of_list. rewrite (at_own (fun _ z => z) 0%Z). unfold entry.
  destruct (Nat.ltb_spec j (length l)); [reflexivity|]. rewrite nth_overflow by assumption. reflexivity.
Qed.

(** * The loops compute x Q and Q h *)

Definition within (n : nat) (t : transition) := (Pos.to_nat (target t) <= n)%nat /\ (0 <= rate t)%Z.

Definition total (row : list transition) : R := fold_right (fun t s => IZR (rate t) + s) 0 row.

Lemma sum_row n row f :
  Forall (within n) row ->
  sum n (fun j => rate_to row j * f j) = fold_right (fun t s => IZR (rate t) * f (pred (Pos.to_nat (target t))) + s) 0 row.
Proof.
  induction 1 as [|t row (L & _) _ IH]; cbn [rate_to fold_right]; [apply sum_zero; intros; ring|].
  rewrite <- IH, <- (sum_single n (target t) (fun j => IZR (rate t) * f j)), <- sum_plus by exact L.
  apply sum_ext; intros j _. destruct (Pos.eqb (target t) (key j)); ring.
Qed.

Lemma received_send row : forall k here out sent j,
  received (send row k here out sent) j =
  received sent j + IZR here * rate_to row j - (if Pos.eqb k (key j) then IZR out + IZR here * total row else 0).
Proof.
  induction row as [|[t a] row IH]; intros k here out sent j; cbn [send rate_to total fold_right target rate].
  - unfold received. cbn [fold_right fst snd]. rewrite opp_IZR. destruct (Pos.eqb k (key j)); lra.
  - rewrite IH, plus_IZR, mult_IZR. unfold total, received. cbn [fold_right fst snd]. rewrite mult_IZR.
    destruct (Pos.eqb k (key j)), (Pos.eqb t (key j)); lra.
Qed.

Lemma nth_within n rs i : Forall (Forall (within n)) rs -> Forall (within n) (nth i rs []).
Proof.
  intros W. destruct (nth_in_or_default i rs []) as [I| ->]; [|constructor].
  rewrite Forall_forall in W. exact (W _ I).
Qed.

Lemma sum_total n row : Forall (within n) row -> sum n (rate_to row) = total row.
Proof.
  intros W. transitivity (sum n (fun j => rate_to row j * 1)); [apply sum_ext; intros; ring|].
  rewrite sum_row by exact W. unfold total. clear W. induction row as [|t row IH]; simpl; [|rewrite IH]; ring.
Qed.

Lemma flows_real rs x j :
  let n := length rs in
  Forall (Forall (within n)) rs -> at_state (flows rs x) j = net n (rate_sum rs) (at_state x) j.
Proof.
  intros n W. unfold flows. rewrite (at_scatter _ []). fold n.
  rewrite (sum_ext n _ (fun k => at_state x k * rate_to (nth k rs []) j
    - (if Pos.eqb (key k) (key j) then at_state x k * total (nth k rs []) else 0))).
  2:{ intros k _. rewrite received_send. fold (at_state x k). unfold received. simpl. destruct (Pos.eqb (key k) (key j)); lra. }
  unfold net. rewrite !sum_minus, sum_at, sum_scale. f_equal. unfold rate_sum.
  rewrite sum_total by (apply nth_within, W).
  destruct (Nat.ltb_spec j n) as [|L]; [reflexivity|]. rewrite nth_overflow by exact L. simpl. ring.
Qed.

Lemma row_drift_real n h here row : Forall (within n) row -> forall from,
  IZR (row_drift row h here from) = IZR from + sum n (fun j => rate_to row j * (at_state h j - IZR here)).
Proof.
  intros W. rewrite (sum_row n row (fun j => at_state h j - IZR here) W).
  induction W as [|[t a] row (L & _) _ IH]; intros from; cbn [row_drift fold_right target rate]; [lra|].
  rewrite IH, plus_IZR, mult_IZR, minus_IZR.
  replace (at_state h (pred (Pos.to_nat t))) with (IZR (get h t)); [lra|].
  unfold at_state. rewrite key_pred. reflexivity.
Qed.

Lemma drifts_real n rs h i :
  Forall (Forall (within n)) rs -> at_state (drifts rs h) i = drift n (rate_sum rs) (at_state h) i.
Proof.
  intros W. unfold drifts. rewrite (at_own (fun k row => row_drift row h (get h k) 0) []).
  unfold drift, rate_sum. destruct (Nat.ltb_spec i (length rs)) as [|L].
  - rewrite (row_drift_real n) by (apply nth_within, W). apply Rplus_0_l.
  - rewrite nth_overflow, sum_zero by (exact L || (intros; simpl; ring)). reflexivity.
Qed.

Lemma net_unit n u rs x k j :
  net n (generator u rs) (fun i => x i * k) j = u * k * net n (rate_sum rs) x j.
Proof. unfold net. rewrite <- sum_scale. apply sum_ext; intros. unfold generator. ring. Qed.

Lemma drift_unit n u rs h k i :
  drift n (generator u rs) (fun i => h i * k) i = u * k * drift n (rate_sum rs) h i.
Proof. unfold drift. rewrite <- sum_scale. apply sum_ext; intros. unfold generator. ring. Qed.

Lemma rate_to_nonneg n row j : Forall (within n) row -> 0 <= rate_to row j.
Proof.
  induction 1 as [|t row (_ & P) _ IH]; simpl; [lra|]. apply IZR_le in P.
  destruct (Pos.eqb (target t) (key j)); lra.
Qed.

(** * Soundness *)

Lemma in_range_within n rs : in_range n rs = true -> Forall (Forall (within n)) rs.
Proof.
  unfold in_range. change 1%positive with (key 0). cbv zeta. rewrite after_key. cbn [Nat.add]. intros E.
  apply Forall_forall. intros row I. apply Forall_forall. intros t J. rewrite forallb_forall in E.
  specialize (E row I). rewrite forallb_forall in E. specialize (E t J). apply andb_prop in E.
  destruct E as [B P]. apply Pos.ltb_lt in B. apply Z.leb_le in P. unfold key in B. unfold within. lia.
Qed.

(** What [proves] means. *)
Lemma proves_sound rs h r c :
  let n := length rs in
  proves n rs h (drifts rs h) r c = true ->
  (0 < n)%nat /\ Forall (Forall (within n)) rs /\ (forall i, (i < n)%nat -> 0 <= at_state h i) /\ (0 < c)%Z
  /\ forall i, (i < n)%nat -> i <> pred (Pos.to_nat r) -> drift n (rate_sum rs) (at_state h) i <= - IZR c.
Proof.
  intros n. unfold proves. intros E.
  repeat (apply andb_prop in E; destruct E as [E ?]).
  assert (W : Forall (Forall (within n)) rs) by (apply in_range_within; assumption).
  split; [destruct n; [discriminate E|lia]|]. split; [exact W|]. split; [|split; [apply Z.ltb_lt; assumption|]].
  - intros i L. apply IZR_le, Z.leb_le, (every_true n _ H2 i L).
  - intros i L D. assert (T := every_true n _ H0 i L). cbv beta in T. apply orb_prop in T.
    destruct T as [T|T].
    + apply Pos.eqb_eq in T. subst r. unfold key in D. lia.
    + apply Z.leb_le, IZR_le in T. rewrite opp_IZR in T.
      fold (at_state (drifts rs h) i) in T. rewrite (drifts_real n) in T by exact W. lra.
Qed.

Lemma proves_generator rs h r c u :
  let n := length rs in
  proves n rs h (drifts rs h) r c = true -> 0 < u ->
  rates n (generator u rs) /\ (forall i, (i < n)%nat -> 0 <= at_state h i)
  /\ (forall i, (i < n)%nat -> i <> pred (Pos.to_nat r) -> drift n (generator u rs) (at_state h) i <= - (u * IZR c)).
Proof.
  intros n E U. destruct (proves_sound _ _ _ _ E) as (N & W & P & C & D). split; [|split; [exact P|]].
  - intros i j _ _. unfold generator. apply Rmult_le_pos; [lra|].
    apply (rate_to_nonneg (length rs)), nth_within, W.
  - intros i L R. specialize (D i L R).
    assert (F := drift_unit n u rs (at_state h) 1 i).
    replace (drift n (generator u rs) (at_state h) i) with (u * 1 * drift n (rate_sum rs) (at_state h) i).
    + replace (- (u * IZR c)) with (u * - IZR c) by ring. rewrite Rmult_1_r.
      apply Rmult_le_compat_l; [lra|exact D].
    + rewrite <- F. unfold drift. apply sum_ext; intros; ring.
Qed.

Lemma pos_scale k t : 0 <= k -> pos (k * t) = k * pos t.
Proof. intros K. unfold pos. rewrite <- (Rmult_0_r k) at 1. rewrite RmaxRmult; [reflexivity|exact K]. Qed.

Lemma neg_scale k t : 0 <= k -> neg (k * t) = k * neg t.
Proof.
  intros K. change (pos (- (k * t)) = k * pos (- t)). replace (- (k * t)) with (k * - t) by ring.
  apply pos_scale, K.
Qed.

(** The residual of Y / S, weighted by h. *)
Lemma rest_real rs h y u c S :
  let n := length rs in
  Forall (Forall (within n)) rs -> 0 < u -> 0 < S -> (0 < c)%Z ->
  rest n (generator u rs) (at_state h) (u * IZR c) (fun i => at_state y i * / S)
  = IZR (one_sided_max n (flows rs y) h) / (IZR c * S).
Proof.
  intros n W U P C. apply IZR_lt in C. assert (0 < / S) by (apply Rinv_0_lt_compat, P).
  assert (K : 0 <= u * / S) by (left; apply Rmult_lt_0_compat; assumption).
  assert (T : forall j, net n (generator u rs) (fun i => at_state y i * / S) j = u * / S * at_state (flows rs y) j).
  { intros j. rewrite net_unit, flows_real by exact W. reflexivity. }
  unfold rest, one_sided_max.
  rewrite (sum_ext n (fun j => pos _ * _)
    (fun j => u * / S * IZR (Z.max (get (flows rs y) (key j)) 0 * get h (key j)))).
  2:{ intros j _. rewrite T, pos_scale, mult_IZR, pos_IZR by assumption. unfold at_state. ring. }
  rewrite (sum_ext n (fun j => neg _ * _)
    (fun j => u * / S * IZR (Z.max (- get (flows rs y) (key j)) 0 * get h (key j)))).
  2:{ intros j _. rewrite T, neg_scale, mult_IZR, neg_IZR by assumption. unfold at_state. ring. }
  rewrite !sum_scale, RmaxRmult, max_IZR, !zsum_real by assumption. field. lra.
Qed.

Section Sound.

Variable C : certificate.
Hypothesis checked : check_bound C (evaluate C) = true.

Let n := length (rows C).
Let u := rate_unit C.
Let q := generator u (rows C).
Let S := IZR (scale C).
Let y := of_list (Y C).
Let h := of_list (H C).
Let c := smallest_fall n (reference C) (drifts (rows C) h).
Let rst := IZR (one_sided_max n (flows (rows C) y) h).
Let mass := IZR (zsum n 1 (get y) 0).

Lemma evaluated :
  evaluate C = Evidence (proves n (rows C) h (drifts (rows C) h) (reference C) c) n y
    (zsum n 1 (get y) 0) c (one_sided_max n (flows (rows C) y) h).
Proof. unfold evaluate. cbv zeta. rewrite size_length, Nat.add_0_r. reflexivity. Qed.

Lemma conditions :
  proves n (rows C) h (drifts (rows C) h) (reference C) c = true /\ 0 < S
  /\ (0 < IZR (unit_num C) /\ 0 < IZR (unit_den C)) /\ 0 < IZR (bound_den C).
Proof.
  assert (E := checked). rewrite evaluated in E. unfold check_bound in E. cbv zeta in E.
  do 5 (apply andb_prop in E; destruct E as [E ?]).
  repeat match goal with T : (0 <? _)%Z = true |- _ => apply Z.ltb_lt, IZR_lt in T end.
  split; [exact E|]. auto.
Qed.

Lemma u_pos : 0 < u.
Proof. destruct conditions as (_ & _ & [? ?] & _). apply Rdiv_lt_0_compat; assumption. Qed.

Theorem check_bound_sound :
  exists p, stationary n q p
  /\ (forall p', stationary n q p' -> forall i, (i < n)%nat -> p' i = p i)
  /\ (forall A : nat -> bool,
       Rabs (sum n (fun i => if A i then entry (X C) i / S - p i else 0)) <= IZR (bound_num C) / IZR (bound_den C)).
Proof.
  destruct conditions as (E & P & _ & D). assert (B := checked). rewrite evaluated in B. unfold check_bound in B. cbv zeta in B.
  apply andb_prop in B. destruct B as [_ B]. apply Z.leb_le, IZR_le in B.
  cbn [states better Checker.mass fall residual] in B.
  set (x := of_list (X C)) in *.
  destruct (proves_sound _ _ _ _ E) as (N & W & _ & Cp & _).
  destruct (proves_generator _ _ _ _ u E u_pos) as (Q & Hn & F).
  assert (Cr := Cp). apply IZR_lt in Cr.
  assert (U : 0 < u * IZR c) by (apply Rmult_lt_0_compat; [exact u_pos|assumption]).
  destruct (exactly_one n _ (at_state h) _ _ Q Hn U F N) as (p & St & Un).
  exists p. split; [exact St|]. split; [exact Un|]. intros A.
  assert (T := every_event n _ (at_state h) _ _ Q Hn U F (fun i => at_state y i * / S) p A St).
  assert (K := rest_real _ h y u c S W u_pos P Cp). cbv zeta in K. fold n rst in K. rewrite K in T. clear K.
  rewrite !mult_IZR, !plus_IZR, !mult_IZR, abs_IZR, minus_IZR in B. fold S rst mass in B.
  assert (Mass : sum n (fun i => at_state y i * / S) - 1 = (mass - S) * / S).
  { rewrite (sum_ext n _ (fun i => / S * at_state y i)) by (intros; ring).
    rewrite sum_scale. unfold mass. rewrite zsum_real. unfold at_state. field. lra. }
  rewrite Mass, Rabs_mult, (Rabs_right (/ S)) in T by (left; apply Rinv_0_lt_compat, P).
  (* from X to Y *)
  set (dist := IZR (Z.max _ _)) in B.
  assert (Moved : Rabs (sum n (fun i => if A i then at_state x i - at_state y i else 0)) <= dist).
  { unfold dist. rewrite max_IZR, !zsum_real. apply Rabs_le. split.
    - eapply Rle_trans; [apply Ropp_le_contravar, Rmax_r|].
      replace (- sum n _) with
        (-1 * sum n (fun k => IZR (Z.max (- (get x (key k) - get y (key k))) 0))) by lra.
      rewrite <- sum_scale. apply sum_le; intros i L. rewrite neg_IZR, minus_IZR.
      fold (at_state x i) (at_state y i). destruct (pos_neg (at_state x i - at_state y i)) as (G & _ & ? & ?).
      destruct (A i); lra.
    - eapply Rle_trans; [|apply Rmax_l].
      apply sum_le; intros i L. rewrite pos_IZR, minus_IZR.
      fold (at_state x i) (at_state y i). destruct (pos_neg (at_state x i - at_state y i)) as (G & _ & ? & ?).
      destruct (A i); lra. }
  rewrite (sum_ext n (fun i => if A i then entry (X C) i / S - p i else 0)
    (fun i => / S * (if A i then at_state x i - at_state y i else 0)
              + (if A i then at_state y i * / S - p i else 0))).
  2:{ intros i L. unfold x. rewrite at_of_list. destruct (A i); field; lra. }
  rewrite sum_plus, sum_scale.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult, (Rabs_right (/ S)) by (left; apply Rinv_0_lt_compat, P).
  assert (Moved' : / S * Rabs (sum n (fun i => if A i then at_state x i - at_state y i else 0)) <= / S * dist)
    by (apply Rmult_le_compat_l; [left; apply Rinv_0_lt_compat, P|exact Moved]).
  apply Rle_trans with ((IZR c * dist + rst + IZR c * Rabs (mass - S)) / (IZR c * S)).
  - apply Rle_trans with (/ S * dist + (rst / (IZR c * S) + Rabs (mass - S) * / S)); [lra|].
    right. field. lra.
  - assert (CS : 0 < IZR c * S) by (apply Rmult_lt_0_compat; assumption).
    apply Rmult_le_reg_r with (IZR c * S * IZR (bound_den C)); [apply Rmult_lt_0_compat; assumption|].
    replace (_ / (IZR c * S) * _) with
      ((IZR c * dist + rst + IZR c * Rabs (mass - S)) * IZR (bound_den C)) by (field; lra).
    replace (_ / IZR (bound_den C) * _) with (IZR (bound_num C) * IZR c * S) by (field; lra).
    exact B.
Qed.

Theorem check_mean_sound M p :
  check_mean C (evaluate C) M = true -> stationary n q p ->
  IZR (low_num M) / IZR (low_den M) <= sum n (fun i => p i * (entry (F M) i / IZR (f_scale M)))
  <= IZR (high_num M) / IZR (high_den M).
Proof.
  intros E St. rewrite evaluated in E. unfold check_mean in E. cbv zeta in E.
  cbn [states better Checker.mass fall residual] in E.
  set (g := of_list (G M)) in *.
  set (lo := or_one (extreme n 1 Z.min _ _)) in *. set (hi := or_one (extreme n 1 Z.max _ _)) in *.
  apply andb_prop in E; destruct E as [E High]. apply andb_prop in E; destruct E as [E Low].
  apply andb_prop in E; destruct E as [E Range]. apply andb_prop in E; destruct E as [E HighD].
  apply andb_prop in E; destruct E as [E LowD]. apply andb_prop in E; destruct E as [FS GS].
  apply Z.ltb_lt, IZR_lt in HighD, LowD, GS, FS.
  destruct conditions as (V & _ & [UnitN UnitD] & _).
  destruct (proves_sound _ _ _ _ V) as (N & W & _ & Cp & _).
  destruct (proves_generator _ _ _ _ u V u_pos) as (Q & Hn & Fall).
  assert (Cr := Cp). apply IZR_lt in Cr.
  assert (U : 0 < u * IZR c) by (apply Rmult_lt_0_compat; [exact u_pos|assumption]).
  set (f := fun i => entry (F M) i / IZR (f_scale M)).
  set (gr := fun i => at_state g i * / IZR (g_scale M)).
  set (den := IZR (f_scale M) * (IZR (g_scale M) * IZR (unit_den C))).
  assert (Den : 0 < den) by (apply Rmult_lt_0_compat; [|apply Rmult_lt_0_compat]; assumption).
  set (rho := fun i : positive => (get (of_list (F M)) i * (g_scale M * unit_den C)
                + f_scale M * unit_num C * get (drifts (rows C) g) i)%Z).
  assert (Rho : forall i, (i < n)%nat -> f i + drift n q gr i = IZR (rho (key i)) / den).
  { intros i L. unfold gr, q. rewrite drift_unit. unfold rho. rewrite plus_IZR, !mult_IZR.
    fold (at_state (of_list (F M)) i) (at_state (drifts (rows C) g) i).
    rewrite at_of_list, (drifts_real n) by exact W. unfold f, u, rate_unit, den. field. lra. }
  assert (B : forall i, (i < n)%nat -> IZR lo / den <= f i + drift n q gr i <= IZR hi / den).
  { intros i L. rewrite Rho by exact L. assert (T := every_true n _ Range i L). cbv beta in T.
    apply andb_prop in T. destruct T as [T1 T2]. apply Z.leb_le, IZR_le in T1, T2.
    split; apply Rmult_le_compat_r; solve [left; apply Rinv_0_lt_compat, Den|assumption]. }
  destruct (mean_between n _ p f gr _ _ St B) as [Odoni1 Odoni2].
  assert (Near := mean_near n _ (at_state h) _ _ Q Hn U Fall (fun i => at_state y i * / 1) p f gr _ _ St B).
  assert (K := rest_real _ h y u c 1 W u_pos Rlt_0_1 Cp). cbv zeta in K. fold n rst in K. rewrite K in Near. clear K.
  fold q in Near.
  assert (Mass : sum n (fun i => at_state y i * / 1) = mass).
  { unfold mass. rewrite zsum_real. apply sum_ext; intros. unfold at_state. field. }
  set (value := zsum n 1 (fun i => get y i * rho i)%Z 0) in *.
  assert (Value : sum n (fun i => at_state y i * / 1 * (f i + drift n q gr i)) = IZR value / den).
  { unfold value. rewrite zsum_real. unfold Rdiv. rewrite Rmult_comm, <- sum_scale. apply sum_ext; intros i L.
    rewrite Rho, mult_IZR by exact L. unfold at_state. field. lra. }
  rewrite Mass, Value in Near. set (pf := sum n (fun i => p i * f i)) in *.
  change (IZR (low_num M) / IZR (low_den M) <= pf <= IZR (high_num M) / IZR (high_den M)).
  (* times den and c: |value - mass pf den| c <= (hi - lo) rst *)
  assert (Half : IZR c * Rabs (IZR value - mass * pf * den) <= rst * (IZR hi - IZR lo)).
  { apply Rmult_le_reg_r with (/ (den * IZR c)); [apply Rinv_0_lt_compat, Rmult_lt_0_compat; assumption|].
    replace (rst * (IZR hi - IZR lo) * / (den * IZR c))
      with ((IZR hi / den - IZR lo / den) * (rst / (IZR c * 1))) by (field; lra).
    replace (IZR c * Rabs (IZR value - mass * pf * den) * / (den * IZR c))
      with (Rabs (IZR value - mass * pf * den) * Rabs (/ den))
      by (rewrite (Rabs_right (/ den)) by (left; apply Rinv_0_lt_compat, Den); field; lra).
    rewrite <- Rabs_mult.
    replace ((IZR value - mass * pf * den) * / den) with (IZR value / den - mass * pf) by (field; lra).
    exact Near. }
  apply (Rmult_le_compat_l den) in Odoni1, Odoni2; [|lra|lra].
  replace (den * (IZR lo / den)) with (IZR lo) in Odoni1 by (field; lra).
  replace (den * (IZR hi / den)) with (IZR hi) in Odoni2 by (field; lra).
  assert (Upper := Rle_abs (IZR value - mass * pf * den)).
  assert (Lower := Rle_abs (- (IZR value - mass * pf * den))). rewrite Rabs_Ropp in Lower.
  apply (Rmult_le_compat_l (IZR c)) in Upper, Lower; [|lra|lra].
  split.
  - apply Rmult_le_reg_r with (den * IZR (low_den M)); [apply Rmult_lt_0_compat; assumption|].
    replace (IZR (low_num M) / IZR (low_den M) * (den * IZR (low_den M))) with (IZR (low_num M) * den) by (field; lra).
    apply orb_prop in Low. destruct Low as [T|T].
    + apply Z.leb_le, IZR_le in T. rewrite !mult_IZR in T. fold den in T.
      apply Rle_trans with (IZR lo * IZR (low_den M)); [exact T|].
      replace (pf * (den * IZR (low_den M))) with (den * pf * IZR (low_den M)) by ring.
      apply Rmult_le_compat_r; lra.
    + apply andb_prop in T. destruct T as [P T]. apply Z.ltb_lt, IZR_lt in P.
      apply Z.leb_le, IZR_le in T.
      rewrite !mult_IZR, minus_IZR, !mult_IZR, minus_IZR in T. fold den rst mass in T.
      match type of T with context [zsum n 1 ?v 0%Z] => change (zsum n 1 v 0%Z) with value in T end.
      apply Rmult_le_reg_r with (mass * IZR c); [apply Rmult_lt_0_compat; assumption|].
      apply Rle_trans with ((IZR c * IZR value - rst * (IZR hi - IZR lo)) * IZR (low_den M)); [lra|].
      replace (pf * (den * IZR (low_den M)) * (mass * IZR c))
        with (IZR c * (mass * pf * den) * IZR (low_den M)) by ring.
      apply Rmult_le_compat_r; lra.
  - apply Rmult_le_reg_r with (den * IZR (high_den M)); [apply Rmult_lt_0_compat; assumption|].
    replace (IZR (high_num M) / IZR (high_den M) * (den * IZR (high_den M)))
      with (IZR (high_num M) * den) by (field; lra).
    apply orb_prop in High. destruct High as [T|T].
    + apply Z.leb_le, IZR_le in T. rewrite !mult_IZR in T. fold den in T.
      apply Rle_trans with (IZR hi * IZR (high_den M)); [|exact T].
      replace (pf * (den * IZR (high_den M))) with (den * pf * IZR (high_den M)) by ring.
      apply Rmult_le_compat_r; lra.
    + apply andb_prop in T. destruct T as [P T]. apply Z.ltb_lt, IZR_lt in P.
      apply Z.leb_le, IZR_le in T.
      rewrite !mult_IZR, plus_IZR, !mult_IZR, minus_IZR in T. fold den rst mass in T.
      match type of T with context [zsum n 1 ?v 0%Z] => change (zsum n 1 v 0%Z) with value in T end.
      apply Rmult_le_reg_r with (mass * IZR c); [apply Rmult_lt_0_compat; assumption|].
      apply Rle_trans with ((IZR c * IZR value + rst * (IZR hi - IZR lo)) * IZR (high_den M)); [|lra].
      replace (pf * (den * IZR (high_den M)) * (mass * IZR c))
        with (IZR c * (mass * pf * den) * IZR (high_den M)) by ring.
      apply Rmult_le_compat_r; lra.
Qed.

End Sound.

(** All in one: what the extracted program decides. *)
Theorem accepts_sound C Ms :
  accepts C Ms = true ->
  let n := length (rows C) in let q := generator (rate_unit C) (rows C) in
  exists p, stationary n q p
  /\ (forall p', stationary n q p' -> forall i, (i < n)%nat -> p' i = p i)
  /\ (forall A : nat -> bool,
       Rabs (sum n (fun i => if A i then entry (X C) i / IZR (scale C) - p i else 0))
       <= IZR (bound_num C) / IZR (bound_den C))
  /\ (forall M, In M Ms ->
       IZR (low_num M) / IZR (low_den M) <= sum n (fun i => p i * (entry (F M) i / IZR (f_scale M)))
       <= IZR (high_num M) / IZR (high_den M)).
Proof.
  unfold accepts. cbv zeta. intros E. apply andb_prop in E. destruct E as [B E]. rewrite forallb_forall in E.
  destruct (check_bound_sound C B) as (p & St & Un & Ev).
  exists p. split; [exact St|]. split; [exact Un|]. split; [exact Ev|].
  intros M I. exact (check_mean_sound C B M p (E M I) St).
Qed.

(** The same for long-run means: the mean of f over the first [k] states of a path from [start] of the uniformised
    chain, with any rate L that no exit rate exceeds, is in the claimed interval in the limit. *)
Theorem check_long_run_sound C R :
  check_long_run C R = true ->
  let n := length (rows C) in let q := generator (rate_unit C) (rows C) in
  let M := average R in let f := fun i => entry (F M) i / IZR (f_scale M) in
  forall L, 0 < L -> (forall i, (i < n)%nat -> sum n (q i) <= L) ->
  exists c, forall k, (0 < k)%nat ->
    IZR (low_num M) / IZR (low_den M) - c / INR k
    <= value n q L k f (pred (Pos.to_nat (reference C))) / INR k
    <= IZR (high_num M) / IZR (high_den M) + c / INR k.
Proof.
  intros E n q M f L Lp Exits. unfold check_long_run in E. cbv zeta in E. rewrite size_length, Nat.add_0_r in E. fold n M in E.
  set (u := of_list (gain R)) in *. set (e := of_list (slack R)) in *. set (g := of_list (G M)) in *.
  set (rs := rows C) in *.
  apply andb_prop in E; destruct E as [E High]. apply andb_prop in E; destruct E as [E Low].
  apply andb_prop in E; destruct E as [E Near]. apply andb_prop in E; destruct E as [E Fall].
  apply andb_prop in E; destruct E as [E HighD]. apply andb_prop in E; destruct E as [E LowD].
  apply andb_prop in E; destruct E as [E US]. apply andb_prop in E; destruct E as [E GS].
  apply andb_prop in E; destruct E as [E FS]. apply andb_prop in E; destruct E as [E UnitD].
  apply andb_prop in E; destruct E as [E UnitN]. apply andb_prop in E; destruct E as [E Start].
  apply in_range_within in E.
  apply Z.ltb_lt, IZR_lt in HighD, LowD, US, GS, FS, UnitD, UnitN.
  set (unit := rate_unit C) in *.
  assert (Up : 0 < unit) by (apply Rmult_lt_0_compat; [assumption|apply Rinv_0_lt_compat; assumption]).
  set (s := pred (Pos.to_nat (reference C))).
  assert (S : key s = reference C) by apply key_pred.
  assert (Sn : (s < n)%nat).
  { change 1%positive with (key 0) in Start. rewrite after_key in Start. apply Pos.ltb_lt in Start. unfold key in Start.
    unfold s. lia. }
  assert (Q : rates n q).
  { intros i j _ _. unfold q, generator. apply Rmult_le_pos; [lra|]. apply (rate_to_nonneg n), nth_within, E. }
  set (ur := fun i => at_state u i * / IZR (gain_scale R)). set (er := fun i => at_state e i * / IZR (gain_scale R)).
  set (gr := fun i => at_state g i * / IZR (g_scale M)).
  assert (Pu : 0 < / IZR (gain_scale R)) by (apply Rinv_0_lt_compat; assumption).
  assert (Du : forall i, drift n q ur i = unit * / IZR (gain_scale R) * at_state (drifts rs u) i)
    by (intros i; unfold ur, q; rewrite drift_unit, (drifts_real n) by exact E; reflexivity).
  assert (De : forall i, drift n q er i = unit * / IZR (gain_scale R) * at_state (drifts rs e) i)
    by (intros i; unfold er, q; rewrite drift_unit, (drifts_real n) by exact E; reflexivity).
  assert (Dg : forall i, drift n q gr i = unit * / IZR (g_scale M) * at_state (drifts rs g) i)
    by (intros i; unfold gr, q; rewrite drift_unit, (drifts_real n) by exact E; reflexivity).
  destruct (long_run n q L Q Lp Exits f gr ur er) as (c & B).
  - intros i I. rewrite Du, De. assert (T := every_true n _ Fall i I). cbv beta in T.
    apply Z.leb_le, IZR_le in T. rewrite abs_IZR, opp_IZR in T.
    fold (at_state (drifts rs u) i) (at_state (drifts rs e) i) in T.
    assert (P : 0 < unit * / IZR (gain_scale R)) by (apply Rmult_lt_0_compat; assumption).
    rewrite Rabs_mult, (Rabs_right (unit * _)) by lra.
    replace (- (unit * / IZR (gain_scale R) * at_state (drifts rs e) i))
      with (unit * / IZR (gain_scale R) * - at_state (drifts rs e) i) by ring.
    apply Rmult_le_compat_l; lra.
  - intros i I. rewrite Dg. assert (T := every_true n _ Near i I). cbv beta in T.
    apply Z.leb_le, IZR_le in T. rewrite abs_IZR, minus_IZR, !mult_IZR, plus_IZR, !mult_IZR in T.
    fold (at_state (of_list (F M)) i) (at_state (drifts rs g) i) (at_state u i) (at_state e i) in T.
    rewrite at_of_list in T.
    set (den := IZR (f_scale M) * (IZR (g_scale M) * IZR (unit_den C))) in T.
    assert (Den : 0 < den) by (apply Rmult_lt_0_compat; [|apply Rmult_lt_0_compat]; assumption).
    assert (DS : 0 < den * IZR (gain_scale R)) by (apply Rmult_lt_0_compat; assumption).
    apply Rmult_le_reg_r with (den * IZR (gain_scale R)); [exact DS|].
    replace (er i * (den * IZR (gain_scale R))) with (at_state e i * den) by (unfold er; field; lra).
    eapply Rle_trans; [|exact T]. right.
    rewrite <- (Rabs_right (den * IZR (gain_scale R))) at 1 by lra. rewrite <- Rabs_mult. f_equal.
    unfold f, ur, unit, rate_unit, den. field. lra.
  - exists c. intros k K. specialize (B k s K Sn). assert (B1 := Rle_abs (value n q L k f s / INR k - ur s)). assert (B2 := Rle_abs (- (value n q L k f s / INR k - ur s))).
    rewrite Rabs_Ropp in B2.
    assert (Lo : IZR (low_num M) / IZR (low_den M) <= ur s - er s).
    { apply Z.leb_le, IZR_le in Low. rewrite !mult_IZR, minus_IZR in Low. rewrite <- S in Low.
      fold (at_state u s) (at_state e s) in Low.
      apply Rmult_le_reg_r with (IZR (low_den M) * IZR (gain_scale R)); [apply Rmult_lt_0_compat; assumption|].
      replace (_ / _ * _) with (IZR (low_num M) * IZR (gain_scale R)) by (field; lra).
      replace ((ur s - er s) * _) with ((at_state u s - at_state e s) * IZR (low_den M)) by (unfold ur, er; field; lra).
      exact Low. }
    assert (Hi : ur s + er s <= IZR (high_num M) / IZR (high_den M)).
    { apply Z.leb_le, IZR_le in High. rewrite !mult_IZR, plus_IZR in High. rewrite <- S in High.
      fold (at_state u s) (at_state e s) in High.
      apply Rmult_le_reg_r with (IZR (high_den M) * IZR (gain_scale R)); [apply Rmult_lt_0_compat; assumption|].
      replace (_ / _ * _) with (IZR (high_num M) * IZR (gain_scale R)) by (field; lra).
      replace ((ur s + er s) * _) with ((at_state u s + at_state e s) * IZR (high_den M)) by (unfold ur, er; field; lra).
      exact High. }
    lra.
Qed.
