# Any network of drop-tail queues whose flows have senders of their own, with random times before
# packets, in ns-2.
#
#   ns generic_network.tcl key value ...
#
# `links` lists both directions of every link, each as `from to rate delay limit`; nodes are numbered
# from 0, `nodes` of them. `flows` lists the flows, each as `from to start window agent settings`:
# `agent` is the class below Agent/TCP without its slash, or `Tahoe`, which is Agent/TCP itself, or
# `Linux/rule`, a congestion control of Agent/TCP/Linux; `settings` are instance variables with their
# values. Sack1 and Linux have the receiver TCPSink/Sack1. Packets have 1500 bytes. Before each packet
# a sender waits for a random time, uniform up to `overhead`. `seed` numbers the substreams of ns-2's
# default generator.
#
# Writes into the working folder:
#   flows.txt  flow, acknowledged at `since` and at `duration`, sent, of these sent again, timeouts
#   drops.txt  ns-2 trace lines of the dropped packets, ACKs too

array set o {
    nodes    2
    links    {0 1 10e6 10e-3 20 1 0 10e6 10e-3 20}
    flows    {{0 1 0 1000 Newreno {}}}
    since    0.5
    duration 1
    overhead 0
    seed     1
}
array set o $argv

set ns [new Simulator]
$ns use-scheduler Heap
[set defaultRNG] seed 1
for {set i 0} {$i < $o(seed)} {incr i} { $defaultRNG next-substream }

set dropfile [open drops.txt w]
for {set i 0} {$i < $o(nodes)} {incr i} { set node($i) [$ns node] }
foreach {a b rate delay limit} $o(links) {
    $ns simplex-link $node($a) $node($b) $rate $delay DropTail
    $ns queue-limit $node($a) $node($b) $limit
    set monitor($a,$b) [$ns monitor-queue $node($a) $node($b) ""]
    # Drops, and nothing else, are traced.
    set trace [$ns create-trace Drop $dropfile $node($a) $node($b)]
    set counter [[$ns link $node($a) $node($b)] set snoopDrop_]
    $trace target [$counter target]
    $counter target $trace
}

proc sender {kind} {
    global ns
    if {$kind eq "Tahoe"} { return [new Agent/TCP] }
    set rule [lindex [split $kind /] 1]
    if {$rule eq ""} { return [new Agent/TCP/$kind] }
    set agent [new Agent/TCP/Linux]
    # Ten bytes of each packet are timestamps.
    foreach {name value} {timestamps_ true ts_resetRTO_ true windowOption_ 8 tcpTick_ 0.001 packetSize_ 1450} {
        $agent set $name $value
    }
    $ns at 0 "$agent select_ca $rule"
    return $agent
}

proc receiver {kind} {
    if {$kind eq "Sack1"} { return [new Agent/TCPSink/Sack1] }
    if {![string match Linux/* $kind]} { return [new Agent/TCPSink] }
    set sink [new Agent/TCPSink/Sack1]
    $sink set ts_echo_rfc1323_ true
    return $sink
}

set n 0
foreach flow $o(flows) {
    foreach {a b start window kind settings} $flow {}
    set tcp($n) [sender $kind]
    if {![string match Linux/* $kind]} { $tcp($n) set packetSize_ 1460 }
    foreach {name value} [concat [list window_ $window minrto_ 0.2 ttl_ 255 fid_ $n \
            overhead_ $o(overhead)] $settings] {
        $tcp($n) set $name $value
    }
    set sink [receiver $kind]
    $sink set ttl_ 255
    $ns attach-agent $node($a) $tcp($n)
    $ns attach-agent $node($b) $sink
    $ns connect $tcp($n) $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($n)
    $ns at $start "$ftp start"
    incr n
}

proc acknowledged {} {
    global n tcp early
    for {set i 0} {$i < $n} {incr i} { set early($i) [$tcp($i) set ack_] }
}

proc finish {} {
    global ns n tcp early dropfile
    $ns flush-trace
    close $dropfile
    set file [open flows.txt w]
    for {set i 0} {$i < $n} {incr i} {
        set line [list $i $early($i)]
        foreach name {ack_ ndatapack_ nrexmitpack_ nrexmit_} { lappend line [$tcp($i) set $name] }
        puts $file $line
    }
    close $file
    exit 0
}

$ns at $o(since) acknowledged
$ns at $o(duration) finish
$ns run
