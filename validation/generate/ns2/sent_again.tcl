# Part of a program of dfcmodel.to_ns2, before it runs: sent_again.txt has the packets that each flow
# with a window sent again, a line each.
rename finish finish_exported
proc finish {} {
    global tcp listening
    set file [open sent_again.txt w]
    foreach f $listening { puts $file [$tcp($f) set nrexmitpack_] }
    close $file
    finish_exported
}
