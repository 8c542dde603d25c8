(* The arrays that stand for the vectors of Checker.v in the extracted program, and the numbers of states.

   The number of state k, from one, is its place in the array plus one.  [scatter] alone changes an array, before it
   returns it, so that a vector is a value as in Coq.  A state beyond the list ends the program. *)

type t = Z.t array

let get v k = if k <= Array.length v then v.(k - 1) else Z.zero

let scatter f items =
  let v = Array.make (List.length items) Z.zero in
  let receive (k, w) = v.(k - 1) <- Z.add v.(k - 1) w in
  List.iteri (fun i item -> List.iter receive (f (i + 1) item)) items;
  v

let before (k : int) l = k < l

(* What Coq's binary numbers consist of is not asked for. *)
let no_number _ : int = assert false
let no_match (_ : int -> 'a) (_ : int -> 'a) (_ : unit -> 'a) (_ : int) : 'a = assert false
