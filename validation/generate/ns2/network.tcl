# Any network of drop-tail queues and greedy TCP flows, in ns-2.
#
#   ns network.tcl key value ...
#
# `links` lists both directions of every link, each as `from to rate delay limit`; nodes are numbered
# from 0, `nodes` of them. `flows` lists the flows, each as `from to start window`; all have the same
# `agent` and `sink`. Packets have 1500 bytes, the first one of a flow 40. `seed` 0 sets none.
#
# Writes into the working folder:
#   samples.txt  time, then cwnd_ and ack_ of each flow
#   flows.txt    flow, acknowledged, sent, of these sent again, timeouts
#   links.txt    from, to, drops

array set o {
    agent    Agent/TCP/Newreno
    sink     Agent/TCPSink
    nodes    2
    links    {0 1 10e6 10e-3 20 1 0 10e6 10e-3 20}
    flows    {0 1 0 1000}
    duration 1
    sample   0.01
    seed     0
}
array set o $argv

set ns [new Simulator]
if {$o(seed) > 0} { $defaultRNG seed $o(seed) }
for {set i 0} {$i < $o(nodes)} {incr i} { set node($i) [$ns node] }
foreach {a b rate delay limit} $o(links) {
    $ns simplex-link $node($a) $node($b) $rate $delay DropTail
    $ns queue-limit $node($a) $node($b) $limit
    set monitor($a,$b) [$ns monitor-queue $node($a) $node($b) ""]
}
set n 0
foreach {a b start window} $o(flows) {
    set tcp($n) [new $o(agent)]
    foreach {name value} [list packetSize_ 1460 window_ $window minrto_ 0.2 ttl_ 64 fid_ $n] {
        $tcp($n) set $name $value
    }
    set sink [new $o(sink)]
    $sink set ttl_ 64
    $ns attach-agent $node($a) $tcp($n)
    $ns attach-agent $node($b) $sink
    $ns connect $tcp($n) $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($n)
    $ns at $start "$ftp start"
    incr n
}

set samples [open samples.txt w]
proc sample {k} {
    global ns o n tcp samples
    set line [list [expr {$k * $o(sample)}]]
    for {set i 0} {$i < $n} {incr i} { lappend line [$tcp($i) set cwnd_] [$tcp($i) set ack_] }
    puts $samples $line
    incr k
    if {$k * $o(sample) < $o(duration) + 0.5 * $o(sample)} {
        $ns at [expr {$k * $o(sample)}] "sample $k"
    } else {
        finish
    }
}

proc finish {} {
    global n tcp samples monitor
    close $samples
    set file [open flows.txt w]
    for {set i 0} {$i < $n} {incr i} {
        set line $i
        foreach name {ack_ ndatapack_ nrexmitpack_ nrexmit_} { lappend line [$tcp($i) set $name] }
        puts $file $line
    }
    close $file
    set file [open links.txt w]
    foreach link [lsort -dictionary [array names monitor]] {
        puts $file "[string map {, { }} $link] [$monitor($link) set pdrops_]"
    }
    close $file
    exit 0
}

$ns at $o(sample) "sample 1"
$ns run
