# priority.tcl with a least timeout of TCP:
#
#   ns priority_min_rto.tcl min_rto 1.0 key value ...
#
# `min_rto` is ns-2's minrto_ in s; the other keys are those of priority.tcl.

array set chosen $argv
Agent/TCP set minrto_ $chosen(min_rto)
source [file join [file dirname [info script]] priority.tcl]
