# One TFRC flow over a path that drops packets at random, with its receiver's reports, in ns-2.
#
#   ns tfrc_trace.tcl key value ...
#
# `losses` lists, separated by commas, times from which on and probabilities with which packets are
# dropped. Writes packets.txt, ns-2's trace lines of the packets (`d` dropped on sending, `+` sent,
# `r` received); prints what the receiver computes: at each report its p and then its last loss
# intervals, the open one first.

array set o {
    losses     0/0.01,5/0.02,20/0.002,35/0.05,45/0.005
    bandwidth  10e6
    delay      24e-3
    size       1000
    duration   60
    tick       0.001
    rto        0.2
    seed       1
}
array set o $argv

set ns [new Simulator]
[set defaultRNG] seed 1
set rng [new RNG]
for {set i 0} {$i < $o(seed)} {incr i} { $rng next-substream }
set uniform [new RandomVariable/Uniform]
$uniform use-rng $rng

set source [$ns node]
set target [$ns node]
$ns duplex-link $source $target $o(bandwidth) $o(delay) DropTail
$ns queue-limit $source $target 100000
set file [open packets.txt w]
$ns trace-queue $source $target $file
set model [new ErrorModel/Uniform 0 pkt]
$model ranvar $uniform
$model drop-target [$ns set nullAgent_]
$ns lossmodel $model $source $target
foreach item [split $o(losses) ,] {
    foreach {time probability} [split $item /] {}
    $ns at $time "$model set rate_ $probability"
}

set flow [new Agent/TFRC]
set sink [new Agent/TFRCSink]
foreach name {packetSize_ fsize_} { $flow set $name [expr {$o(size) - 32}] }
$flow set tcp_tick_ $o(tick)
$flow set minrto_ $o(rto)
$sink set printLoss_ 1
$ns attach-agent $source $flow
$ns attach-agent $target $sink
$ns connect $flow $sink
$ns at 0.5 "$flow start"
$ns at $o(duration) "$ns flush-trace; close $file; exit 0"
$ns run
