# One flow over a fast path on which packets are dropped at a given rate (zheng2002), in ns-2.
#
#   ns loss.tcl key value ...
#
# `loss periodic`: every k-th data packet is dropped, counting all that are sent, also those that
# are sent again; `loss independent`: each with probability 1/k, from substream `seed` of one
# ns-2 random number stream. The first drop, which ends slow start, is that of packet `early`, or
# comes with probability 1/`early`. Measures from the `warm`-th drop after it to the `events`-th
# drop after that, seen every `step` seconds, and prints one line of name value pairs.

array set o {
    agent     Agent/TCP/Sack1
    increase  1.0
    decrease  0.5
    loss      periodic
    k         100
    seed      1
    early     200
    warm      50
    events    300
    bandwidth 10e9
    delay     24e-3
    size      1000
    window    100000
    step      0.01
    rto       0.192
    limit     1e7
}
array set o $argv

set ns [new Simulator]
set source [$ns node]
set target [$ns node]
$ns duplex-link $source $target $o(bandwidth) $o(delay) DropTail
$ns queue-limit $source $target 1000000

set link [$ns link $source $target]
if {$o(early) > $o(k)} { set o(early) $o(k) }
if {$o(loss) eq "periodic"} {
    set model [new ErrorModel/Periodic]
    $model unit pkt
    $model set period_ $o(k)
    $model set offset_ $o(early)
} else {
    [set defaultRNG] seed 1
    set rng [new RNG]
    for {set i 0} {$i < $o(seed)} {incr i} { $rng next-substream }
    set uniform [new RandomVariable/Uniform]
    $uniform use-rng $rng
    set model [new ErrorModel/Uniform [expr {1.0 / $o(early)}] pkt]
    $model ranvar $uniform
}
$ns lossmodel $model $source $target

# One monitor before the loss model counts what is sent; the snoop on its drop side what is lost.
set sent [new QueueMonitor]
set lost [new QueueMonitor]
set in [new SnoopQueue/In]
$in set-monitor $sent
$link add-to-head $in
set out [new SnoopQueue/Drop]
$out set-monitor $lost
$out drop-target [$ns set nullAgent_]
set dropfile [open drops.txt w]
set trace [$ns create-trace Drop $dropfile $source $target]
$trace target [$ns set nullAgent_]
$out target $trace
$model drop-target $out

set tfrc [expr {$o(agent) eq "Agent/TFRC"}]
set flow [new $o(agent)]
$flow set packetSize_ $o(size)
if {$tfrc} {
    set sink [new Agent/TFRCSink]
    $flow set fsize_ $o(size)
    $flow set tcp_tick_ 0.001
    $flow set minrto_ $o(rto)
} else {
    set sink [new Agent/TCPSink/Sack1]
    $flow set window_ $o(window)
    $flow set windowOption_ 1
    $flow set increase_num_ $o(increase)
    $flow set decrease_num_ $o(decrease)
    $flow set tcpTick_ 0.0001
}
$ns attach-agent $source $flow
$ns attach-agent $target $sink
$ns connect $flow $sink
if {$tfrc} {
    $ns at 0 "$flow start"
} else {
    set ftp [new Application/FTP]
    $ftp attach-agent $flow
    $ns at 0 "$ftp start"
}

proc counters {} {
    global ns sent lost flow tfrc
    set values [list [$ns now] [$sent set parrivals_] [$lost set pdrops_]]
    if {$tfrc} {
        lappend values 0 0 0 0
    } else {
        foreach name {ack_ ncwndcuts_ nrexmit_ nrexmitpack_} { lappend values [$flow set $name] }
    }
    return $values
}

# Until the warm-up has passed only the drops are looked at; then window and round-trip time are
# averaged over the looks.
proc look {} {
    global ns o model lost flow tfrc first looks window rtt rate
    set drops [$lost set pdrops_]
    if {[info exists first]} {
        incr looks
        if {$tfrc} {
            set rate [expr {$rate + [$flow set rate_] / $o(size)}]
        } else {
            set window [expr {$window + [$flow set cwnd_]}]
            set rtt [expr {$rtt + [$flow set rtt_] * [$flow set tcpTick_]}]
        }
        if {$drops >= [lindex $first 2] + $o(events)} finish
    } elseif {$drops == 0} {
        # Slow start goes on.
    } elseif {$drops <= $o(warm)} {
        if {$o(loss) eq "independent"} { $model set rate_ [expr {1.0 / $o(k)}] }
    } else {
        set first [counters]
        foreach name {looks window rtt rate} { set $name 0 }
    }
    $ns at [expr {[$ns now] + $o(step)}] look
}

proc finish {} {
    global ns o dropfile first looks window rtt rate
    $ns flush-trace
    close $dropfile
    foreach name {duration sent drops acked cuts timeouts resent} a $first b [counters] {
        puts -nonewline "$name [expr {$b - $a}] "
    }
    foreach name {window rtt rate} {
        puts -nonewline "$name [expr {[set $name] / $looks}] "
    }
    puts "start [lindex $first 0]"
    exit 0
}

$ns at $o(step) look
$ns at $o(limit) "puts stderr {too few drops before the time limit}; exit 1"
$ns run
