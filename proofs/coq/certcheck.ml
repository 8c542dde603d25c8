(* Read a certificate from standard input, and print what the proved checker accepts.
   Trusted besides it: this file, Coq's extraction, the OCaml compiler and Zarith. *)

module Integers = Z
open Checker
module Z = Integers (* of Zarith: the extracted file has a module of the same name *)

exception Refused of string

let refuse form = Printf.ksprintf (fun reason -> raise (Refused reason)) form
let require condition reason = if not condition then raise (Refused reason)
let words line = List.filter (( <> ) "") (String.split_on_char ' ' line)

(* ------------------------------------------------------------------ numbers *)

let whole base word =
  let n = String.length word in
  let start = if n > 0 && word.[0] = '-' then 1 else 0 in
  if start = n then refuse "%S is not a number" word;
  let digit = function
    | '0' .. '9' as c -> Char.code c - Char.code '0'
    | 'a' .. 'f' as c when base = 16 -> Char.code c - Char.code 'a' + 10
    | _ -> refuse "%S is not a number" word in
  (* The low bits of the number, and all of it where it has at most 15 digits. *)
  let rec value i v = if i = n then v else value (i + 1) ((base * v) + digit word.[i]) in
  let v = value start 0 in
  if n - start > 15 then Z.of_string_base base word else Z.of_int (if start = 1 then -v else v)

let fraction word =
  match String.split_on_char '/' word with
  | [ top ] -> (whole 10 top, Z.one)
  | [ top; bottom ] -> (whole 10 top, whole 10 bottom)
  | _ -> refuse "%S is not a fraction" word

let small word =
  let value = whole 10 word in
  if word.[0] = '-' || not (Z.fits_int value) then refuse "%S is out of range" word;
  Z.to_int value

(* ------------------------------------------------------------------ the file *)

let line_number = ref 0

let next () =
  incr line_number;
  let line = input_line stdin in
  let n = String.length line in
  let line = if n > 0 && line.[n - 1] = '\r' then String.sub line 0 (n - 1) else line in
  require (String.for_all (fun c -> ' ' <= c && c <= '~') line) "must be printable ASCII characters";
  line

let information = [ "made-by"; "model"; "sha256"; "constants" ]

(* What a certificate is about, by its schema: one stationary distribution, or long-run means from a state. *)
type kind = Stationary | Long_run

let known = function
  | Stationary -> [ "rate-unit"; "scale"; "reference"; "bound"; "columns"; "states" ] @ information
  | Long_run -> [ "rate-unit"; "reference"; "columns"; "states" ] @ information

(* Name and claim of a function of the state, with the scale of gains; its values come with the states. *)
let claim kind text =
  let named f_scale g_scale gain_scale low high name =
    let f_scale, g_scale = (whole 16 f_scale, whole 16 g_scale) in
    let (low_num, low_den), (high_num, high_den) = (fraction low, fraction high) in
    let average = { f = []; g = []; f_scale; g_scale; low_num; low_den; high_num; high_den } in
    (String.concat " " name, { average; gain = []; slack = []; gain_scale = whole 16 gain_scale }) in
  match kind, String.split_on_char ' ' text with
  | Stationary, f_scale :: g_scale :: low :: high :: (_ :: _ as name) -> named f_scale g_scale "1" low high name
  | Long_run, f_scale :: g_scale :: gain_scale :: low :: high :: (_ :: _ as name) ->
      named f_scale g_scale gain_scale low high name
  | _ -> refuse "a function must have scales, two ends and a name"

let rec header kind found claims =
  let line = String.trim (next ()) in
  let end_of_key = Option.value (String.index_opt line ' ') ~default:(String.length line) in
  let key = String.sub line 0 end_of_key in
  let rest = if line = key then "" else String.sub line (end_of_key + 1) (String.length line - end_of_key - 1) in
  if key = "function" then header kind found (claim kind rest :: claims)
  else (
    if List.mem_assoc key found || not (List.mem key (known kind)) then refuse "%S is unknown, or stands there twice" key;
    if key = "states" then (List.rev ((key, rest) :: found), List.rev claims)
    else header kind ((key, rest) :: found) claims)

let rec split k = function
  | word :: rest when k > 0 -> let first, rest = split (k - 1) rest in (word :: first, rest)
  | rest -> require (k = 0) "there are too few numbers"; ([], rest)

let rec pairs = function
  | [] -> []
  | a :: b :: rest -> (a, b) :: pairs rest
  | _ -> refuse "numbers of transitions must come in pairs"

let read () =
  let kind = match String.trim (next ()) with
    | "hopflow-certificate 1" -> Stationary
    | "hopflow-certificate 2" -> Long_run
    | _ -> refuse "must begin with 'hopflow-certificate 1' or 'hopflow-certificate 2'" in
  let found, claims = header kind [] [] in
  let entry name = try List.assoc name found with Not_found -> refuse "%s is missing" name in
  let names = List.map fst claims in
  require (List.length (List.sort_uniq compare names) = List.length names) "two functions have the same name";
  let columns, n = (List.length (words (entry "columns")), small (entry "states")) in
  let seen = Hashtbl.create 1024 in
  let push list value = list := value :: !list in
  let xs, ys, hs, rows = (ref [], ref [], ref [], ref []) in
  let width = match kind with Stationary -> 2 | Long_run -> 4 in
  let functions = List.map (fun _ -> List.init width (fun _ -> ref [])) claims in
  let state s line =
    let values, rest = split columns (words line) in
    let place = String.concat " " (List.map (fun word -> Z.to_string (whole 10 word)) values) in
    require (columns = 0 || not (Hashtbl.mem seen place)) "a state stands there twice";
    Hashtbl.replace seen place ();
    let numbers, rest = split (match kind with Stationary -> 3 | Long_run -> 0) (List.map (whole 16) rest) in
    (match numbers with
     | [ x; low; h ] ->
         require (Z.sign x >= 0) "the listed probabilities must not be negative";
         push xs x; push ys (Z.add x low); push hs h
     | _ -> ());
    let values, transitions = split (width * List.length claims) rest in
    List.iter2 push (List.concat functions) values;
    let transition (target, rate) =
      let inside = Z.sign target >= 0 && Z.lt target (Z.of_int n) in
      require (Z.sign rate > 0 && inside && not (Z.equal target (Z.of_int s)))
        "rates must be positive, and lead to other states of the list";
      { target = Z.to_int target + 1; rate } in
    push rows (List.map transition (pairs transitions)) in
  let rec states s = match next () with line -> state s line; states (s + 1) | exception End_of_file -> s in
  let count = states 0 in
  if count <> n then refuse "there are %d states" count;
  let (unit_num, unit_den), reference = (fraction (entry "rate-unit"), small (entry "reference") + 1) in
  let (bound_num, bound_den), scale = match kind with
    | Stationary -> (fraction (entry "bound"), whole 16 (entry "scale"))
    | Long_run -> ((Z.zero, Z.one), Z.one) in
  let x, y, h, rows = (List.rev !xs, List.rev !ys, List.rev !hs, List.rev !rows) in
  let certificate = { rows; x; y; h; unit_num; unit_den; scale; reference; bound_num; bound_den } in
  let filled (_, m) columns =
    match List.map (fun column -> List.rev !column) columns with
    | f :: g :: rest ->
        let gain, slack = match rest with [ gain; slack ] -> (gain, slack) | _ -> ([], []) in
        { m with average = { m.average with f; g }; gain; slack }
    | _ -> assert false in
  (kind, found, certificate, List.combine names (List.map2 filled claims functions))

(* ------------------------------------------------------------------ the statement *)

(* A fraction with at most 60 digits, rounded by [divide]. *)
let decimal divide top bottom =
  let power k = Z.pow (Z.of_int 10) (max k 0) in
  let size z = String.length (Z.to_string (Z.abs z)) in
  let e = if Z.sign top = 0 then 0 else size top - size bottom - 59 in
  let rec short z e = if Z.sign z <> 0 && Z.divisible z (Z.of_int 10) then short (Z.divexact z (Z.of_int 10)) (e + 1) else (z, e) in
  let z, e = short (divide (Z.mul top (power (-e))) (Z.mul bottom (power e))) e in
  let digits = Z.to_string (Z.abs z) in
  let sign, rest = ((if Z.sign z < 0 then "-" else ""), String.sub digits 1 (String.length digits - 1)) in
  Printf.sprintf "%s%c%s%se%d" sign digits.[0] (if rest = "" then "" else ".") rest (e + String.length rest)

let () =
  Gc.set { (Gc.get ()) with minor_heap_size = 1 lsl 20; space_overhead = 400 };
  try
    let kind, found, c, means = read () in
    let proved = match kind with
      | Stationary -> accepts c (List.map (fun (_, m) -> m.average) means)
      | Long_run -> List.for_all (fun (_, m) -> check_long_run c m) means in
    require proved "the numbers of the file do not prove what it claims";
    let transitions = List.fold_left (fun n row -> n + List.length row) 0 c.rows in
    let size = Printf.sprintf "on the %d listed states (%d transitions)" (List.length c.rows) transitions in
    let called = match kind with
      | Stationary ->
          Printf.printf "proved      exactly one stationary distribution %s\n" size;
          Printf.printf "proved      total variation of the listed probabilities <= %s\n"
            (decimal Z.cdiv c.bound_num c.bound_den);
          "mean"
      | Long_run ->
          Printf.printf "proved      long-run means from state number %d %s\n" (c.reference - 1) size;
          "long-run mean" in
    let mean (name, { average = m; _ }) =
      Printf.printf "proved      %s of %s in [%s, %s]\n" called name
        (decimal Z.fdiv m.low_num m.low_den) (decimal Z.cdiv m.high_num m.high_den) in
    List.iter mean means;
    print_endline "rows        as in the certificate";
    let told (key, text) = if List.mem key information then Printf.printf "not checked %s: %s\n" key text in
    List.iter told found
  with
  | Refused reason -> Printf.eprintf "certcheck: line %d: %s\n" !line_number reason; exit 1
  | End_of_file -> Printf.eprintf "certcheck: line %d: the file ends too early\n" !line_number; exit 1
