# Flows with the congestion controls of Linux (Agent/TCP/Linux) over bottlenecks in a row (kaneko2007).
#
#   ns linux.tcl key value ...
#
# `hops` equal bottlenecks connect nodes 0, 1, ..., each of `rate` and `delay`; their queues hold
# `buffer` packets, those of the way back `back_buffer`. Flow i goes from its source over the nodes
# `from` to `to` to its target; with `to` below `from` it uses the way back. `rules` names a
# congestion control for every flow, `starts` its first time, `rtts` its round trip without queueing
# and transmission, in s; what the bottlenecks do not take of it, its last link has. Each packet of
# data is lost with probability `loss` behind the last bottleneck. Slow start ends at a window of
# `ssthresh` packets. With `overhead` every packet is sent up to that many seconds late, at random.
# Every `step` seconds one line goes to samples.txt:
#   time, last bottleneck: arrivals, departures, drops, area below the queue in packets s;
#   each flow: sent, received, lost at random, acknowledged, cwnd
# and at the times `begin` and `end` one to links.txt: time, then the same four values of every link,
# the way there before the way back. At `end` the sources stop; `drain` seconds later the counts are
# written once more. drops.txt has one ns-2 trace line per drop of a queue, lost.txt one per random
# loss.

array set o {
    rules       reno
    starts      0.0
    rtts        0.04
    from        0
    to          1
    hops        1
    rate        100e6
    delay       0.02
    buffer      333
    back_buffer 1000000
    loss        0
    overhead    0
    seed        1
    begin       20
    end         100
    drain       60
    step        0.1
    window      7000
    ssthresh    333
    packet      1500
    access      10
}
array set o $argv

set ns [new Simulator]
$ns use-scheduler Heap
[set defaultRNG] seed 1
set rng [new RNG]
for {set i 0} {$i < $o(seed)} {incr i} {
    $rng next-substream
    $defaultRNG next-substream
}

# A monitor of all packets that enter the link.
proc counter {from to} {
    global ns
    set monitor [new QueueMonitor]
    set snoop [new SnoopQueue/In]
    $snoop set-monitor $monitor
    [$ns link $from $to] add-to-head $snoop
    return $monitor
}

# Losses, with their flows, as trace lines in a file.
proc trace-drops {from to file} {
    global ns
    set trace [$ns create-trace Drop $file $from $to]
    $trace target [$ns set nullAgent_]
    return $trace
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
    $refused target [trace-drops $from $to $dropfile]
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
set lostfile [open lost.txt w]
set samples [open samples.txt w]
set linkfile [open links.txt w]

set routers [list [$ns node]]
set forward {}
set backward {}
for {set h 0} {$h < $o(hops)} {incr h} {
    lappend routers [$ns node]
    set a [lindex $routers $h]
    set b [lindex $routers end]
    $ns duplex-link $a $b $o(rate) $o(delay) DropTail
    $ns queue-limit $a $b $o(buffer)
    $ns queue-limit $b $a $o(back_buffer)
    lappend forward [watch $a $b]
    lappend backward [watch $b $a]
}

set flows {}
foreach rule $o(rules) start $o(starts) rtt $o(rtts) from $o(from) to $o(to) {
    set i [expr {[llength $flows] + 1}]
    set source [$ns node]
    set target [$ns node]
    set first [lindex $routers $from]
    set last [lindex $routers $to]
    set fast [expr {$o(access) * $o(rate)}]
    set extra [expr {$rtt / 2 - abs($to - $from) * $o(delay)}]
    $ns duplex-link $source $first $fast 0 DropTail
    $ns duplex-link $last $target $fast [expr {$extra > 1e-12 ? $extra : 0}] DropTail
    foreach {a b} [list $source $first $last $target] {
        $ns queue-limit $a $b 1000000
        $ns queue-limit $b $a 1000000
    }
    set received($i) [counter $last $target]
    if {$o(loss) > 0} {
        set uniform [new RandomVariable/Uniform]
        $uniform use-rng $rng
        set model [new ErrorModel/Uniform $o(loss) pkt]
        $model ranvar $uniform
        $ns lossmodel $model $last $target
        $model drop-target [trace-drops $last $target $lostfile]
    }
    set reached($i) [counter $last $target]
    set sent($i) [counter $source $first]

    set agent [new Agent/TCP/Linux]
    $agent set fid_ $i
    $agent set timestamps_ true
    $agent set ts_resetRTO_ true
    $agent set packetSize_ [expr {$o(packet) - 50}]
    $agent set window_ $o(window)
    $agent set windowOption_ 8
    $agent set tcpTick_ 0.001
    $agent set overhead_ $o(overhead)
    $ns at 0 "$agent set ssthresh_ $o(ssthresh)"
    set sink [new Agent/TCPSink/Sack1]
    $sink set ts_echo_rfc1323_ true
    $ns attach-agent $source $agent
    $ns attach-agent $target $sink
    $ns connect $agent $sink
    $ns at 0 "$agent select_ca $rule"
    set ftp [new Application/FTP]
    $ftp attach-agent $agent
    $ns at $start "$ftp start"
    $ns at $o(end) "$ftp stop"
    set agents($i) $agent
    lappend flows $i
}

# The counter before the loss model sees what reached it, the one behind it what got through.
proc sample {} {
    global ns flows forward samples sent reached received agents
    set line [concat [$ns now] [state [lindex $forward end]]]
    foreach i $flows {
        set through [$received($i) set parrivals_]
        set lost [expr {[$reached($i) set parrivals_] - $through}]
        lappend line [$sent($i) set parrivals_] $through $lost
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
    global ns samples dropfile lostfile linkfile
    sample
    $ns flush-trace
    foreach file [list $samples $dropfile $lostfile $linkfile] { close $file }
    exit 0
}

$ns at $o(step) look
$ns at $o(begin) links
$ns at $o(end) links
$ns at [expr {$o(end) + $o(drain)}] finish
$ns run
