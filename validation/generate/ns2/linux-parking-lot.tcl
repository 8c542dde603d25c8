# A parking lot (kaneko2007): `hops` equal bottlenecks in a row, flows of Agent/TCP/Linux.
#
#   ns linux-parking-lot.tcl key value ...
#
# Forward, for each number of hops k from 1 to `hops`, one flow of `rule` and one Reno flow cross the
# last k bottlenecks: all end behind the last node. With `reverse` above 0 so many Reno flows of one
# hop each fill every link backwards, the way of the acknowledgements. The flows start in the order
# of `starts`. Every queue holds `buffer` packets. Output as that of linux.tcl: the first five columns
# of samples.txt are those of the last bottleneck, then every flow: sent, received, 0, acknowledged,
# cwnd; order: k = 1 rule, k = 1 Reno, k = 2 rule, ..., then the reverse flows hop by hop.
# links.txt, at the times `begin` and `end`: time, then for each link, forward and then backward:
# arrivals, departures, drops, area below the queue.

array set o {
    rule      reno
    hops      3
    reverse   0
    starts    {}
    rate      100e6
    delay     0.01
    buffer    167
    begin     20
    end       60
    drain     60
    step      0.1
    window    7000
    ssthresh  50
    packet    1500
    access    10
}
array set o $argv

set ns [new Simulator]
$ns use-scheduler Heap
[set defaultRNG] seed 1

# A monitor of all packets that enter the link.
proc counter {from to} {
    global ns
    set monitor [new QueueMonitor]
    set snoop [new SnoopQueue/In]
    $snoop set-monitor $monitor
    [$ns link $from $to] add-to-head $snoop
    return $monitor
}

# Arrivals, departures, drops and the area below the queue of a link; its drops go to drops.txt.
proc watch {from to} {
    global ns dropfile
    set monitor [new QueueMonitor]
    $monitor set-pkts-integrator [new Integrator]
    set in [new SnoopQueue/In]
    set out [new SnoopQueue/Out]
    set refused [new SnoopQueue/Drop]
    foreach snoop [list $in $out $refused] { $snoop set-monitor $monitor }
    [$ns link $from $to] attach-monitors $in $out $refused $monitor
    set trace [$ns create-trace Drop $dropfile $from $to]
    $trace target [$ns set nullAgent_]
    $refused target $trace
    return $monitor
}

proc state {monitor} {
    global ns
    set area [$monitor get-pkts-integrator]
    $area newpoint [$ns now] [$monitor set pkts_]
    set values {}
    foreach name {parrivals_ pdepartures_ pdrops_} { lappend values [$monitor set $name] }
    return [lappend values [$area set sum_]]
}

set dropfile [open drops.txt w]
close [open lost.txt w]
set samples [open samples.txt w]
set linkfile [open links.txt w]

set routers [list [$ns node]]
set forward {}
set backward {}
for {set h 0} {$h < $o(hops)} {incr h} {
    lappend routers [$ns node]
    set a [lindex $routers $h]
    set b [lindex $routers [expr {$h + 1}]]
    $ns duplex-link $a $b $o(rate) $o(delay) DropTail
    $ns queue-limit $a $b $o(buffer)
    $ns queue-limit $b $a $o(buffer)
    lappend forward [watch $a $b]
    lappend backward [watch $b $a]
}

set flows {}
proc flow {rule from to} {
    global ns o flows sent received agents
    set i [expr {[llength $flows] + 1}]
    set source [$ns node]
    set target [$ns node]
    set fast [expr {$o(access) * $o(rate)}]
    $ns duplex-link $source $from $fast 0 DropTail
    $ns duplex-link $to $target $fast 0 DropTail
    foreach {a b} [list $source $from $to $target] {
        $ns queue-limit $a $b 1000000
        $ns queue-limit $b $a 1000000
    }
    set sent($i) [counter $source $from]
    set received($i) [counter $to $target]
    set agent [new Agent/TCP/Linux]
    $agent set fid_ $i
    $agent set timestamps_ true
    $agent set ts_resetRTO_ true
    $agent set packetSize_ [expr {$o(packet) - 50}]
    $agent set window_ $o(window)
    $agent set windowOption_ 8
    $agent set tcpTick_ 0.001
    set sink [new Agent/TCPSink/Sack1]
    $sink set ts_echo_rfc1323_ true
    $ns attach-agent $source $agent
    $ns attach-agent $target $sink
    $ns connect $agent $sink
    $ns at 0 "$agent select_ca $rule"
    $ns at 0 "$agent set ssthresh_ $o(ssthresh)"
    set ftp [new Application/FTP]
    $ftp attach-agent $agent
    $ns at [lindex $o(starts) [expr {$i - 1}]] "$ftp start"
    $ns at $o(end) "$ftp stop"
    set agents($i) $agent
    lappend flows $i
}

for {set k 1} {$k <= $o(hops)} {incr k} {
    foreach rule [list $o(rule) reno] {
        flow $rule [lindex $routers [expr {$o(hops) - $k}]] [lindex $routers end]
    }
}
for {set h 0} {$h < $o(hops)} {incr h} {
    for {set j 0} {$j < $o(reverse)} {incr j} {
        flow reno [lindex $routers [expr {$h + 1}]] [lindex $routers $h]
    }
}

proc sample {} {
    global ns flows forward samples sent received agents
    set line [concat [$ns now] [state [lindex $forward end]]]
    foreach i $flows {
        lappend line [$sent($i) set parrivals_] [$received($i) set parrivals_] 0
        lappend line [$agents($i) set ack_] [$agents($i) set cwnd_]
    }
    puts $samples $line
}

proc look {} {
    global ns o
    sample
    if {[$ns now] + $o(step) < $o(end) + $o(step) / 2} {
        $ns at [expr {[$ns now] + $o(step)}] look
    }
}

proc links {} {
    global ns forward backward linkfile
    set line [$ns now]
    foreach monitor [concat $forward $backward] { set line [concat $line [state $monitor]] }
    puts $linkfile $line
}

proc finish {} {
    global ns samples dropfile linkfile
    sample
    $ns flush-trace
    foreach file [list $samples $dropfile $linkfile] { close $file }
    exit 0
}

$ns at $o(step) look
$ns at $o(begin) links
$ns at $o(end) links
$ns at [expr {$o(end) + $o(drain)}] finish
$ns run
