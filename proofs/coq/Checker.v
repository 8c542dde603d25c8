(** An executable checker of certificates, on integers alone, and its soundness by Theory.v.

    Vectors are read from lists into binary tries, so that a check takes O(log n) per transition. *)

Require Import Reals Lra Lia ZArith NArith List Bool FMapPositive.
Require Import Theory.
Import ListNotations.
Open Scope Z_scope.

(** * The checker *)

Record edge := Edge { source : N; target : N; rate : Z }.

(** State [i] has the probability [X i / scale], and [Y i / scale] in the better vector.  [H] is h up to a factor.
    Claimed is the bound [bound_num / bound_den]. *)
Record certificate := Certificate {
  edges : list edge; X : list Z; Y : list Z; H : list Z;
  scale : Z; reference : N; bound_num : Z; bound_den : Z }.

Definition vector := PositiveMap.t Z.

Definition get (v : vector) (i : N) : Z :=
  match PositiveMap.find (N.succ_pos i) v with Some z => z | None => 0 end.

Definition bump (v : vector) (i : N) (w : Z) : vector := PositiveMap.add (N.succ_pos i) (get v i + w) v.

Fixpoint fill (l : list Z) (i : N) (v : vector) : vector :=
  match l with [] => v | z :: t => fill t (N.succ i) (bump v i z) end.

Definition of_list (l : list Z) : vector := fill l 0%N (PositiveMap.empty Z).

(** x Q and Q h, in units of the rates. *)

Fixpoint flows (es : list edge) (x v : vector) : vector :=
  match es with
  | [] => v
  | Edge s t a :: rest => flows rest x (let w := get x s * a in bump (bump v t w) s (- w))
  end.

Fixpoint drifts (es : list edge) (h v : vector) : vector :=
  match es with
  | [] => v
  | Edge s t a :: rest => drifts rest h (bump v s (a * (get h t - get h s)))
  end.

(** Over the states [i], ..., [i + n - 1]. *)

Fixpoint zsum (n : nat) (i : N) (f : N -> Z) (from : Z) : Z :=
  match n with O => from | S k => zsum k (N.succ i) f (from + f i) end.

Fixpoint every (n : nat) (i : N) (f : N -> bool) : bool :=
  match n with O => true | S k => if f i then every k (N.succ i) f else false end.

Fixpoint extreme (n : nat) (i : N) (op : Z -> Z -> Z) (f : N -> option Z) (best : option Z) : option Z :=
  match n with
  | O => best
  | S k => extreme k (N.succ i) op f
      (match f i, best with Some a, Some b => Some (op a b) | Some a, None => Some a | None, _ => best end)
  end.

Definition or_one (o : option Z) : Z := match o with Some z => z | None => 1 end.

(** The least fall of h outside of the reference; one for a single state. *)
Definition smallest_fall (n : nat) (r : N) (d : vector) : Z :=
  or_one (extreme n 0%N Z.min (fun i => if N.eqb i r then None else Some (- get d i)) None).

Definition one_sided_max (n : nat) (net h : vector) : Z :=
  Z.max (zsum n 0%N (fun i => Z.max (get net i) 0 * get h i) 0)
        (zsum n 0%N (fun i => Z.max (- get net i) 0 * get h i) 0).

Definition edge_ok (n : N) (e : edge) : bool :=
  (N.ltb (source e) n && N.ltb (target e) n && (0 <=? rate e))%bool.

(** [proves n es h r c]: the conditions of the theorem. *)
Definition proves (n : nat) (es : list edge) (h : vector) (r : N) (c : Z) : bool :=
  ((0 <? n)%nat && forallb (edge_ok (N.of_nat n)) es && every n 0%N (fun i => 0 <=? get h i) && (0 <? c)
   && (let d := drifts es h (PositiveMap.empty Z) in
       every n 0%N (fun i => N.eqb i r || (get d i <=? - c))))%bool.

Definition check (C : certificate) : bool :=
  let n := length (X C) in
  let x := of_list (X C) in let y := of_list (Y C) in let h := of_list (H C) in
  let c := smallest_fall n (reference C) (drifts (edges C) h (PositiveMap.empty Z)) in
  let rest := one_sided_max n (flows (edges C) y (PositiveMap.empty Z)) h in
  let distance := Z.max (zsum n 0%N (fun i => Z.max (get x i - get y i) 0) 0)
                        (zsum n 0%N (fun i => Z.max (- (get x i - get y i)) 0) 0) in
  let mass := zsum n 0%N (get y) 0 in
  (proves n (edges C) h (reference C) c && (0 <? scale C) && (0 <? bound_den C)
   && ((c * distance + rest + c * Z.abs (mass - scale C)) * bound_den C <=? bound_num C * c * scale C))%bool.

(** A function f = F / f_scale of the state with g = G / g_scale, where [rate] counts unit_num / unit_den.  Claimed is
    that the mean of f is between low_num / low_den and high_num / high_den. *)
Record mean := Mean {
  F : list Z; G : list Z; f_scale : Z; g_scale : Z; unit_num : Z; unit_den : Z;
  low_num : Z; low_den : Z; high_num : Z; high_den : Z }.

Definition check_mean (C : certificate) (M : mean) : bool :=
  let n := length (X C) in
  let y := of_list (Y C) in let h := of_list (H C) in let f := of_list (F M) in
  let d := drifts (edges C) (of_list (G M)) (PositiveMap.empty Z) in
  let c := smallest_fall n (reference C) (drifts (edges C) h (PositiveMap.empty Z)) in
  let rest := one_sided_max n (flows (edges C) y (PositiveMap.empty Z)) h in
  let a := g_scale M * unit_den M in let b := f_scale M * unit_num M in
  let den := f_scale M * a in
  let rho i := get f i * a + b * get d i in
  let lo := or_one (extreme n 0%N Z.min (fun i => Some (rho i)) None) in
  let hi := or_one (extreme n 0%N Z.max (fun i => Some (rho i)) None) in
  let value := zsum n 0%N (fun i => get y i * rho i) 0 in
  let half := rest * (hi - lo) in
  let mass := zsum n 0%N (get y) 0 in
  (proves n (edges C) h (reference C) c && (0 <? f_scale M) && (0 <? g_scale M)
   && (0 <? unit_num M) && (0 <? unit_den M) && (0 <? low_den M) && (0 <? high_den M)
   && every n 0%N (fun i => (lo <=? rho i) && (rho i <=? hi))
   && ((low_num M * den <=? lo * low_den M)
       || (0 <? mass) && (low_num M * den * mass * c <=? (c * value - half) * low_den M))
   && ((hi * high_den M <=? high_num M * den)
       || (0 <? mass) && ((c * value + half) * high_den M <=? high_num M * den * mass * c)))%bool.

(** * What the integers stand for *)

Open Scope R_scope.

Fixpoint rate_sum (es : list edge) (i j : nat) : R :=
  match es with
  | [] => 0
  | e :: t => (if (N.eqb (source e) (N.of_nat i) && N.eqb (target e) (N.of_nat j))%bool then IZR (rate e) else 0)
              + rate_sum t i j
  end.

(** The generator: rates in the unit [u], parallel transitions added. *)
Definition generator (u : R) (es : list edge) (i j : nat) : R := u * rate_sum es i j.

Definition entry (l : list Z) (i : nat) : R := IZR (nth i l 0%Z).

Definition at_state (v : vector) (i : nat) : R := IZR (get v (N.of_nat i)).

(** * Vectors and sums *)

Lemma get_bump v i w j : get (bump v i w) j = (get v j + (if N.eqb i j then w else 0))%Z.
Proof.
  unfold bump. unfold get at 1. destruct (N.eqb_spec i j) as [->|D].
  - rewrite PositiveMap.gss. reflexivity.
  - rewrite PositiveMap.gso; [unfold get; lia|]. intros E. apply D.
    apply (f_equal N.pos) in E. rewrite !N.succ_pos_spec in E. apply N.succ_inj in E. auto.
Qed.

Lemma get_empty i : get (PositiveMap.empty Z) i = 0%Z.
Proof. unfold get. rewrite PositiveMap.gempty. reflexivity. Qed.

Lemma get_fill l : forall i v j,
  get (fill l i v) j = (get v j + (if N.ltb j i then 0 else nth (N.to_nat (j - i)) l 0))%Z.
Proof.
  induction l as [|z l IH]; intros i v j; cbn [fill].
  - destruct (N.ltb j i), (N.to_nat (j - i)); simpl; lia.
  - rewrite IH, get_bump. destruct (N.eqb_spec i j) as [->|D].
    + rewrite (proj2 (N.ltb_lt j (N.succ j))), (proj2 (N.ltb_ge j j)), N.sub_diag by lia. simpl. lia.
    + destruct (N.ltb_spec j i).
      * rewrite (proj2 (N.ltb_lt j (N.succ i))) by lia. lia.
      * rewrite (proj2 (N.ltb_ge j (N.succ i))) by lia.
        replace (N.to_nat (j - i)) with (S (N.to_nat (j - N.succ i))) by lia. simpl. lia.
Qed.

Lemma at_of_list l i : at_state (of_list l) i = entry l i.
Proof.
  unfold at_state, of_list, entry. rewrite get_fill, get_empty, (proj2 (N.ltb_ge _ _)) by lia.
  f_equal. rewrite Z.add_0_l. f_equal. lia.
Qed.

Lemma sum_first n f : sum (S n) f = f 0%nat + sum n (fun i => f (S i)).
Proof.
  induction n as [|n IH]; [simpl; lra|].
  change (sum (S n) f + f (S n) = f 0%nat + (sum n (fun i => f (S i)) + f (S n))). rewrite IH. lra.
Qed.

Lemma zsum_from n : forall i f from,
  IZR (zsum n i f from) = IZR from + sum n (fun k => IZR (f (i + N.of_nat k)%N)).
Proof.
  induction n as [|n IH]; intros i f from; [simpl; lra|].
  cbn [zsum]. rewrite IH, plus_IZR, sum_first, N.add_0_r, Rplus_assoc. do 2 f_equal.
  apply sum_ext; intros k _. do 2 f_equal. lia.
Qed.

Lemma zsum_real n f : IZR (zsum n 0%N f 0) = sum n (fun k => IZR (f (N.of_nat k))).
Proof. rewrite zsum_from, Rplus_0_l. apply sum_ext; intros. do 2 f_equal. Qed.

Lemma every_from n : forall i f, every n i f = true -> forall k, (k < n)%nat -> f (i + N.of_nat k)%N = true.
Proof.
  induction n as [|n IH]; intros i f E k L; [lia|]. cbn [every] in E.
  destruct (f i) eqn:F; [|discriminate]. destruct k as [|k]; [rewrite N.add_0_r; exact F|].
  replace (i + N.of_nat (S k))%N with (N.succ i + N.of_nat k)%N by lia. apply IH; [exact E|lia].
Qed.

Lemma every_true n f : every n 0%N f = true -> forall k, (k < n)%nat -> f (N.of_nat k) = true.
Proof. intros E k L. exact (every_from n 0%N f E k L). Qed.

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

Lemma sum_single n s f :
  (N.to_nat s < n)%nat -> sum n (fun i => if N.eqb s (N.of_nat i) then f i else 0) = f (N.to_nat s).
Proof.
  induction n as [|n IH]; intros L; [lia|]. simpl. destruct (N.eqb_spec s (N.of_nat n)) as [->|D].
  - rewrite Nat2N.id, sum_zero; [lra|]. intros i Li.
    rewrite (proj2 (N.eqb_neq _ _)) by lia. reflexivity.
  - rewrite IH by lia. lra.
Qed.

(** * The loops compute x Q and Q h *)

Definition within (n : nat) (e : edge) :=
  (N.to_nat (source e) < n)%nat /\ (N.to_nat (target e) < n)%nat /\ (0 <= rate e)%Z.

Lemma net_cons n s t a es x j :
  (N.to_nat s < n)%nat -> (N.to_nat t < n)%nat ->
  net n (rate_sum (Edge s t a :: es)) x j =
  (if N.eqb t (N.of_nat j) then x (N.to_nat s) * IZR a else 0)
  - (if N.eqb s (N.of_nat j) then x j * IZR a else 0) + net n (rate_sum es) x j.
Proof.
  intros Ws Wt.
  rewrite <- (sum_single n s (fun i => if N.eqb t (N.of_nat j) then x i * IZR a else 0)) by assumption.
  rewrite <- (sum_single n t (fun _ => if N.eqb s (N.of_nat j) then x j * IZR a else 0)) by assumption.
  unfold net. rewrite <- sum_minus, <- sum_plus. apply sum_ext; intros i _. cbn [rate_sum source target rate].
  destruct (N.eqb s (N.of_nat i)), (N.eqb t (N.of_nat j)), (N.eqb s (N.of_nat j)), (N.eqb t (N.of_nat i));
    cbn [andb]; ring.
Qed.

Lemma drift_cons n s t a es h i :
  (N.to_nat t < n)%nat ->
  drift n (rate_sum (Edge s t a :: es)) h i =
  (if N.eqb s (N.of_nat i) then IZR a * (h (N.to_nat t) - h i) else 0) + drift n (rate_sum es) h i.
Proof.
  intros Wt.
  rewrite <- (sum_single n t (fun j => if N.eqb s (N.of_nat i) then IZR a * (h j - h i) else 0)) by assumption.
  unfold drift. rewrite <- sum_plus. apply sum_ext; intros j _. cbn [rate_sum source target rate].
  destruct (N.eqb s (N.of_nat i)), (N.eqb t (N.of_nat j)); cbn [andb]; ring.
Qed.

Lemma flows_real n x es : forall v j,
  Forall (within n) es -> (j < n)%nat ->
  at_state (flows es x v) j = at_state v j + net n (rate_sum es) (at_state x) j.
Proof.
  induction es as [|[s t a] es IH]; intros v j W L; cbn [flows].
  - unfold net. rewrite sum_zero; [lra|]. intros; simpl; ring.
  - inversion W as [|e es' (Ws & Wt & Wa) W']; subst. cbn [source target rate] in *.
    rewrite IH, net_cons by assumption. generalize (net n (rate_sum es) (at_state x) j); intros R.
    unfold at_state. rewrite !get_bump, !plus_IZR, N2Nat.id.
    destruct (N.eqb t (N.of_nat j)), (N.eqb_spec s (N.of_nat j)) as [->|]; rewrite ?opp_IZR, ?mult_IZR; lra.
Qed.

Lemma drifts_real n h es : forall v i,
  Forall (within n) es -> (i < n)%nat ->
  at_state (drifts es h v) i = at_state v i + drift n (rate_sum es) (at_state h) i.
Proof.
  induction es as [|[s t a] es IH]; intros v i W L; cbn [drifts].
  - unfold drift. rewrite sum_zero; [lra|]. intros; simpl; ring.
  - inversion W as [|e es' (Ws & Wt & Wa) W']; subst. cbn [source target rate] in *.
    rewrite IH, drift_cons by assumption. generalize (drift n (rate_sum es) (at_state h) i); intros R.
    unfold at_state. rewrite get_bump, plus_IZR, N2Nat.id.
    destruct (N.eqb_spec s (N.of_nat i)) as [->|]; rewrite ?mult_IZR, ?minus_IZR; lra.
Qed.

Lemma net_unit n u es x k j :
  net n (generator u es) (fun i => x i * k) j = u * k * net n (rate_sum es) x j.
Proof. unfold net. rewrite <- sum_scale. apply sum_ext; intros. unfold generator. ring. Qed.

Lemma drift_unit n u es h k i :
  drift n (generator u es) (fun i => h i * k) i = u * k * drift n (rate_sum es) h i.
Proof. unfold drift. rewrite <- sum_scale. apply sum_ext; intros. unfold generator. ring. Qed.

Lemma rate_sum_nonneg n es i j : Forall (within n) es -> 0 <= rate_sum es i j.
Proof.
  induction 1 as [|e es (_ & _ & P) _ IH]; simpl; [lra|]. apply IZR_le in P.
  destruct (N.eqb (source e) _ && N.eqb (target e) _)%bool; lra.
Qed.

(** * Soundness *)

Definition empty := PositiveMap.empty Z.

Lemma at_empty i : at_state empty i = 0.
Proof. unfold at_state, empty. rewrite get_empty. reflexivity. Qed.

(** What [proves] means. *)
Lemma proves_sound n es h r c :
  proves n es h r c = true ->
  (0 < n)%nat /\ Forall (within n) es /\ (forall i, (i < n)%nat -> 0 <= at_state h i) /\ (0 < c)%Z
  /\ forall i, (i < n)%nat -> i <> N.to_nat r -> drift n (rate_sum es) (at_state h) i <= - IZR c.
Proof.
  unfold proves. intros E. repeat (apply andb_prop in E; destruct E as [E ?]).
  apply Nat.ltb_lt in E.
  assert (W : Forall (within n) es).
  { apply Forall_forall. intros e I. rewrite forallb_forall in H3. specialize (H3 e I). unfold edge_ok in H3.
    repeat (apply andb_prop in H3; destruct H3 as [H3 ?]).
    apply N.ltb_lt in H3, H5. apply Z.leb_le in H4. unfold within. lia. }
  split; [exact E|]. split; [exact W|]. split; [|split; [apply Z.ltb_lt; assumption|]].
  - intros i L. apply IZR_le, Z.leb_le, (every_true n _ H2 i L).
  - intros i L D. assert (T := every_true n _ H0 i L). cbv beta in T. apply orb_prop in T.
    destruct T as [T|T].
    + apply N.eqb_eq in T. lia.
    + apply Z.leb_le, IZR_le in T. rewrite opp_IZR in T. fold empty in T.
      fold (at_state (drifts es h empty) i) in T.
      rewrite (drifts_real n), at_empty in T by assumption. lra.
Qed.

Lemma proves_generator n es h r c u :
  proves n es h r c = true -> 0 < u ->
  rates n (generator u es) /\ (forall i, (i < n)%nat -> 0 <= at_state h i)
  /\ (forall i, (i < n)%nat -> i <> N.to_nat r -> drift n (generator u es) (at_state h) i <= - (u * IZR c)).
Proof.
  intros E U. destruct (proves_sound _ _ _ _ _ E) as (N & W & P & C & D). split; [|split; [exact P|]].
  - intros i j _ _. unfold generator. apply Rmult_le_pos; [lra|apply (rate_sum_nonneg n), W].
  - intros i L R. specialize (D i L R).
    assert (F := drift_unit n u es (at_state h) 1 i).
    replace (drift n (generator u es) (at_state h) i) with (u * 1 * drift n (rate_sum es) (at_state h) i).
    + replace (- (u * IZR c)) with (u * - IZR c) by ring. rewrite Rmult_1_r.
      apply Rmult_le_compat_l; lra.
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
Lemma rest_real n es h y u c S :
  Forall (within n) es -> 0 < u -> 0 < S -> (0 < c)%Z ->
  rest n (generator u es) (at_state h) (u * IZR c) (fun i => at_state y i * / S)
  = IZR (one_sided_max n (flows es y empty) h) / (IZR c * S).
Proof.
  intros W U P C. apply IZR_lt in C. assert (0 < / S) by (apply Rinv_0_lt_compat, P).
  assert (K : 0 <= u * / S) by (left; apply Rmult_lt_0_compat; assumption).
  assert (T : forall j, (j < n)%nat ->
    net n (generator u es) (fun i => at_state y i * / S) j = u * / S * at_state (flows es y empty) j).
  { intros j L. rewrite net_unit, (flows_real n), at_empty by assumption. ring. }
  unfold rest, one_sided_max.
  rewrite (sum_ext n (fun j => pos _ * _)
    (fun j => u * / S * IZR (Z.max (get (flows es y empty) (N.of_nat j)) 0 * get h (N.of_nat j)))).
  2:{ intros j L. rewrite T, pos_scale, mult_IZR, pos_IZR by assumption. unfold at_state. ring. }
  rewrite (sum_ext n (fun j => neg _ * _)
    (fun j => u * / S * IZR (Z.max (- get (flows es y empty) (N.of_nat j)) 0 * get h (N.of_nat j)))).
  2:{ intros j L. rewrite T, neg_scale, mult_IZR, neg_IZR by assumption. unfold at_state. ring. }
  rewrite !sum_scale, RmaxRmult, max_IZR, !zsum_real by assumption. field. lra.
Qed.

Section Sound.

Variables (C : certificate) (u : R).
Hypothesis checked : check C = true.
Hypothesis u_pos : 0 < u.

Let n := length (X C).
Let S := IZR (scale C).

(** Whatever the unit [u] of the rates is. *)
Theorem check_sound :
  exists p, stationary n (generator u (edges C)) p
  /\ (forall p', stationary n (generator u (edges C)) p' -> forall i, (i < n)%nat -> p' i = p i)
  /\ (forall A : nat -> bool,
       Rabs (sum n (fun i => if A i then entry (X C) i / S - p i else 0)) <= IZR (bound_num C) / IZR (bound_den C)).
Proof.
  assert (E := checked). unfold check in E. fold n in E. cbv zeta in E. fold empty in E.
  set (x := of_list (X C)) in *. set (y := of_list (Y C)) in *. set (h := of_list (H C)) in *.
  set (c := smallest_fall n _ _) in *.
  apply andb_prop in E. destruct E as [E B]. apply andb_prop in E. destruct E as [E D].
  apply andb_prop in E. destruct E as [E P].
  apply Z.ltb_lt in D, P. apply Z.leb_le, IZR_le in B.
  destruct (proves_sound _ _ _ _ _ E) as (N & W & _ & Cp & _).
  destruct (proves_generator _ _ _ _ _ u E u_pos) as (Q & Hn & F).
  assert (Cr := Cp). apply IZR_lt in Cr. apply IZR_lt in D, P. fold S in P.
  assert (U : 0 < u * IZR c) by (apply Rmult_lt_0_compat; assumption).
  destruct (exactly_one n _ (at_state h) _ _ Q Hn U F N) as (p & St & Un).
  exists p. split; [exact St|]. split; [exact Un|]. intros A.
  assert (T := every_event n _ (at_state h) _ _ Q Hn U F (fun i => at_state y i * / S) p A St).
  rewrite (rest_real n _ h y u c S W u_pos P Cp) in T.
  set (rst := IZR (one_sided_max n (flows (edges C) y empty) h)) in *.
  rewrite !mult_IZR, !plus_IZR, !mult_IZR, abs_IZR, minus_IZR in B. fold S rst in B.
  set (mass := IZR (zsum n 0%N (get y) 0)) in *.
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
        (-1 * sum n (fun k => IZR (Z.max (- (get x (N.of_nat k) - get y (N.of_nat k))) 0))) by lra.
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

End Sound.

Section SoundMean.

Variables (C : certificate) (M : mean).
Hypothesis checked : check_mean C M = true.

Let n := length (X C).
Let u := IZR (unit_num M) / IZR (unit_den M).

Theorem check_mean_sound p :
  stationary n (generator u (edges C)) p ->
  IZR (low_num M) / IZR (low_den M) <= sum n (fun i => p i * (entry (F M) i / IZR (f_scale M)))
  <= IZR (high_num M) / IZR (high_den M).
Proof.
  intros St. assert (E := checked). unfold check_mean in E. fold n in E. cbv zeta in E. fold empty in E.
  set (y := of_list (Y C)) in *. set (h := of_list (H C)) in *. set (g := of_list (G M)) in *.
  set (c := smallest_fall n _ _) in *.
  set (lo := or_one (extreme n 0%N Z.min _ _)) in *. set (hi := or_one (extreme n 0%N Z.max _ _)) in *.
  apply andb_prop in E; destruct E as [E High]. apply andb_prop in E; destruct E as [E Low].
  apply andb_prop in E; destruct E as [E Range]. apply andb_prop in E; destruct E as [E HighD].
  apply andb_prop in E; destruct E as [E LowD]. apply andb_prop in E; destruct E as [E UnitD].
  apply andb_prop in E; destruct E as [E UnitN]. apply andb_prop in E; destruct E as [E GS].
  apply andb_prop in E; destruct E as [E FS].
  apply Z.ltb_lt, IZR_lt in HighD, LowD, UnitD, UnitN, GS, FS.
  assert (u_pos : 0 < u) by (apply Rdiv_lt_0_compat; assumption).
  destruct (proves_sound _ _ _ _ _ E) as (N & W & _ & Cp & _).
  destruct (proves_generator _ _ _ _ _ u E u_pos) as (Q & Hn & Fall).
  assert (Cr := Cp). apply IZR_lt in Cr.
  assert (U : 0 < u * IZR c) by (apply Rmult_lt_0_compat; assumption).
  set (f := fun i => entry (F M) i / IZR (f_scale M)).
  set (gr := fun i => at_state g i * / IZR (g_scale M)).
  set (den := IZR (f_scale M) * (IZR (g_scale M) * IZR (unit_den M))).
  assert (Den : 0 < den) by (apply Rmult_lt_0_compat; [|apply Rmult_lt_0_compat]; assumption).
  set (rho := fun i : BinNums.N => (get (of_list (F M)) i * (g_scale M * unit_den M)
                + f_scale M * unit_num M * get (drifts (edges C) g empty) i)%Z).
  assert (Rho : forall i, (i < n)%nat -> f i + drift n (generator u (edges C)) gr i = IZR (rho (N.of_nat i)) / den).
  { intros i L. unfold gr. rewrite drift_unit. unfold rho. rewrite plus_IZR, !mult_IZR.
    fold (at_state (of_list (F M)) i) (at_state (drifts (edges C) g empty) i).
    rewrite at_of_list, (drifts_real n), at_empty by assumption. unfold f, u, den. field. lra. }
  assert (B : forall i, (i < n)%nat -> IZR lo / den <= f i + drift n (generator u (edges C)) gr i <= IZR hi / den).
  { intros i L. rewrite Rho by exact L. assert (T := every_true n _ Range i L). cbv beta in T.
    apply andb_prop in T. destruct T as [T1 T2]. apply Z.leb_le, IZR_le in T1, T2.
    split; apply Rmult_le_compat_r; solve [left; apply Rinv_0_lt_compat, Den|assumption]. }
  destruct (mean_between n _ p f gr _ _ St B) as [Odoni1 Odoni2].
  assert (Near := mean_near n _ (at_state h) _ _ Q Hn U Fall (fun i => at_state y i * / 1) p f gr _ _ St B).
  rewrite (rest_real n _ h y u c 1 W u_pos Rlt_0_1 Cp) in Near.
  set (rst := one_sided_max n (flows (edges C) y empty) h) in *.
  set (mass := zsum n 0%N (get y) 0) in *.
  assert (Mass : sum n (fun i => at_state y i * / 1) = IZR mass).
  { unfold mass. rewrite zsum_real. apply sum_ext; intros. unfold at_state. field. }
  set (value := zsum n 0%N (fun i => get y i * rho i)%Z 0) in *.
  assert (Value : sum n (fun i => at_state y i * / 1 * (f i + drift n (generator u (edges C)) gr i)) = IZR value / den).
  { unfold value. rewrite zsum_real. unfold Rdiv. rewrite Rmult_comm, <- sum_scale. apply sum_ext; intros i L.
    rewrite Rho, mult_IZR by exact L. unfold at_state. field. lra. }
  rewrite Mass, Value in Near. set (pf := sum n (fun i => p i * f i)) in *.
  change (IZR (low_num M) / IZR (low_den M) <= pf <= IZR (high_num M) / IZR (high_den M)).
  (* times den and c: |value - mass pf den| c <= (hi - lo) rst *)
  assert (Half : IZR c * Rabs (IZR value - IZR mass * pf * den) <= IZR rst * (IZR hi - IZR lo)).
  { apply Rmult_le_reg_r with (/ (den * IZR c)); [apply Rinv_0_lt_compat, Rmult_lt_0_compat; assumption|].
    replace (IZR rst * (IZR hi - IZR lo) * / (den * IZR c))
      with ((IZR hi / den - IZR lo / den) * (IZR rst / (IZR c * 1))) by (field; lra).
    replace (IZR c * Rabs (IZR value - IZR mass * pf * den) * / (den * IZR c))
      with (Rabs (IZR value - IZR mass * pf * den) * Rabs (/ den))
      by (rewrite (Rabs_right (/ den)) by (left; apply Rinv_0_lt_compat, Den); field; lra).
    rewrite <- Rabs_mult.
    replace ((IZR value - IZR mass * pf * den) * / den) with (IZR value / den - IZR mass * pf) by (field; lra).
    exact Near. }
  apply (Rmult_le_compat_l den) in Odoni1, Odoni2; [|lra|lra].
  replace (den * (IZR lo / den)) with (IZR lo) in Odoni1 by (field; lra).
  replace (den * (IZR hi / den)) with (IZR hi) in Odoni2 by (field; lra).
  assert (Upper := Rle_abs (IZR value - IZR mass * pf * den)).
  assert (Lower := Rle_abs (- (IZR value - IZR mass * pf * den))). rewrite Rabs_Ropp in Lower.
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
      rewrite !mult_IZR, minus_IZR, !mult_IZR, minus_IZR in T. fold den in T.
      match type of T with context [zsum n 0%N ?v 0%Z] => change (zsum n 0%N v 0%Z) with value in T end.
      apply Rmult_le_reg_r with (IZR mass * IZR c); [apply Rmult_lt_0_compat; assumption|].
      apply Rle_trans with ((IZR c * IZR value - IZR rst * (IZR hi - IZR lo)) * IZR (low_den M)); [lra|].
      replace (pf * (den * IZR (low_den M)) * (IZR mass * IZR c))
        with (IZR c * (IZR mass * pf * den) * IZR (low_den M)) by ring.
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
      rewrite !mult_IZR, plus_IZR, !mult_IZR, minus_IZR in T. fold den in T.
      match type of T with context [zsum n 0%N ?v 0%Z] => change (zsum n 0%N v 0%Z) with value in T end.
      apply Rmult_le_reg_r with (IZR mass * IZR c); [apply Rmult_lt_0_compat; assumption|].
      apply Rle_trans with ((IZR c * IZR value + IZR rst * (IZR hi - IZR lo)) * IZR (high_den M)); [|lra].
      replace (pf * (den * IZR (high_den M)) * (IZR mass * IZR c))
        with (IZR c * (IZR mass * pf * den) * IZR (high_den M)) by ring.
      apply Rmult_le_compat_r; lra.
Qed.

End SoundMean.
