# Flows with the congestion controls of Linux (Agent/TCP/Linux) over one bottleneck (kaneko2007).
#
#   ns linux.tcl key value ...
#
# Flow i goes source i -> left -> right -> target i. `rules` names a congestion control for every
# flow, `starts` its first time, `rtts` its round trip without queueing and transmission, in s. The
# queue of the left node holds `buffer` packets; each packet is lost with probability `loss` behind
# it. Slow start ends at a window of `ssthresh` packets. Every `step` seconds one line goes to samples.txt:
#   time, bottleneck: arrivals, departures, drops, area below the queue in packets s;
#   each flow: sent, received, lost at random, acknowledged, cwnd
# At `end` the sources stop; `drain` seconds later the counts are written once more. drops.txt has
# one ns-2 trace line per drop of the queue, lost.txt one per random loss.

array set o {
    rules     reno
    starts    0.0
    rtts      0.04
    rate      100e6
    buffer    333
    loss      0
    seed      1
    end       100
    drain     60
    step      0.1
    window    7000
    ssthresh  333
    packet    1500
    access    10
}
array set o $argv

set ns [new Simulator]
$ns use-scheduler Heap
[set defaultRNG] seed 1
set rng [new RNG]
for {set i 0} {$i < $o(seed)} {incr i} { $rng next-substream }

# A monitor of all packets that enter the link.
proc counter {from to} {
    global ns
    set monitor [new QueueMonitor]
    set snoop [new SnoopQueue/In]
    $snoop set-monitor $monitor
    [$ns link $from $to] add-to-head $snoop
    return $monitor
}

# Losses of the queue, with their flows, as trace lines in a file.
proc trace-drops {from to file} {
    global ns
    set trace [$ns create-trace Drop $file $from $to]
    $trace target [$ns set nullAgent_]
    return $trace
}

set left [$ns node]
set right [$ns node]
set shortest [lindex [lsort -real $o(rtts)] 0]
$ns duplex-link $left $right $o(rate) [expr {$shortest / 2}] DropTail
$ns queue-limit $left $right $o(buffer)
$ns queue-limit $right $left 1000000
set dropfile [open drops.txt w]
set lostfile [open lost.txt w]
set area [new Integrator]
set bottleneck [new QueueMonitor]
$bottleneck set-pkts-integrator $area
set entered [new SnoopQueue/In]
set left_queue [new SnoopQueue/Out]
set refused [new SnoopQueue/Drop]
foreach snoop [list $entered $left_queue $refused] { $snoop set-monitor $bottleneck }
[$ns link $left $right] attach-monitors $entered $left_queue $refused $bottleneck
$refused target [trace-drops $left $right $dropfile]

set flows {}
set i 0
foreach rule $o(rules) start $o(starts) rtt $o(rtts) {
    incr i
    set source [$ns node]
    set target [$ns node]
    set fast [expr {$o(access) * $o(rate)}]
    set extra [expr {($rtt - $shortest) / 2}]
    $ns duplex-link $source $left $fast 0 DropTail
    $ns duplex-link $right $target $fast $extra DropTail
    foreach {a b} [list $source $left $right $target] {
        $ns queue-limit $a $b 1000000
        $ns queue-limit $b $a 1000000
    }
    set received($i) [counter $right $target]
    if {$o(loss) > 0} {
        set uniform [new RandomVariable/Uniform]
        $uniform use-rng $rng
        set model [new ErrorModel/Uniform $o(loss) pkt]
        $model ranvar $uniform
        $ns lossmodel $model $right $target
        $model drop-target [trace-drops $right $target $lostfile]
    }
    set reached($i) [counter $right $target]
    set sent($i) [counter $source $left]

    set agent [new Agent/TCP/Linux]
    $agent set fid_ $i
    $agent set timestamps_ true
    $agent set ts_resetRTO_ true
    $agent set packetSize_ [expr {$o(packet) - 50}]
    $agent set window_ $o(window)
    $agent set windowOption_ 8
    $ns at 0 "$agent set ssthresh_ $o(ssthresh)"
    $agent set tcpTick_ 0.001
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

set samples [open samples.txt w]

# The counter before the loss model sees what reached it, the one behind it what got through.
proc sample {} {
    global ns flows bottleneck area samples sent reached received agents
    set now [$ns now]
    set line [list $now]
    foreach name {parrivals_ pdepartures_ pdrops_} { lappend line [$bottleneck set $name] }
    $area newpoint $now [$bottleneck set pkts_]
    lappend line [$area set sum_]
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

proc finish {} {
    global ns samples dropfile lostfile
    sample
    $ns flush-trace
    foreach file [list $samples $dropfile $lostfile] { close $file }
    exit 0
}

$ns at $o(step) look
$ns at [expr {$o(end) + $o(drain)}] finish
$ns run
