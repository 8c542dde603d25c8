# A dumbbell: flows of several kinds share one bottleneck (zheng2002, Fig. 2), in ns-2.
#
#   ns dumbbell.tcl key value ...
#
# `kinds` lists the flows, `agent/increase/kept/number` separated by commas: the agent is sack
# (TCP, with increase_num_ and decrease_num_) or tfrc. Every flow has its own sender and receiver
# nodes; the delay of both its access links is `access + step * i` for the i-th flow of a kind,
# from 0. `background` UDP sources are on and off for Pareto times; one UDP source of rate `cbr`
# runs from `on` to `off`. All packets have `size` bytes on the wire.
#
# Everything is counted at the bottleneck's queue from `warm` to `duration`. Writes into the
# working folder:
#   flows.txt    per flow: number, kind (from 1; background, cbr), start, mean wait, mean RTT
#                sample, then pairs at `warm` and `duration` of: arrivals, drops, departures,
#                waiting, marks, packets sent, sent again, timeouts, cuts, ECN responses, received
#   link.txt     pairs of: arrivals, drops, departures, waiting, marks, bytes departed, integral
#                of the waiting packets over time; then the most packets seen waiting
#   counts.txt   time, departures of every flow so far
#   drops.txt    time and flow of the drops

array set o {
    kinds       sack/1.0/0.5/8,tfrc/0/0/8
    bandwidth   15e6
    delay       20e-3
    access      2e-3
    step        0
    queue       RED
    buffer      180
    low         30
    high        90
    weight      0.002
    maxp        0.1
    ecn         0
    size        1000
    window      10000
    spread      5
    jitter      0
    background  0
    cbr         0
    on          0
    off         0
    warm        20
    duration    90
    bin         0.5
    look        0.1
    tick        0.001
    rto         0.2
    seed        1
}
array set o $argv

set ns [new Simulator]

# Every seed is a substream of two random number streams: one for the starts, and ns-2's default
# one for RED, the background and the jitter.
[set defaultRNG] seed 1
set rng [new RNG]
for {set i 0} {$i < $o(seed)} {incr i} {
    $rng next-substream
    [set defaultRNG] next-substream
}

set left [$ns node]
set right [$ns node]
if {$o(queue) eq "RED"} {
    foreach {name value} [list \
        thresh_ $o(low) maxthresh_ $o(high) q_weight_ $o(weight) linterm_ [expr {1.0 / $o(maxp)}] \
        bytes_ false queue_in_bytes_ false mean_pktsize_ $o(size) gentle_ true \
        setbit_ [expr {$o(ecn) ? "true" : "false"}]] {
        Queue/RED set $name $value
    }
}
$ns simplex-link $left $right $o(bandwidth) $o(delay) $o(queue)
$ns simplex-link $right $left $o(bandwidth) $o(delay) DropTail
$ns queue-limit $left $right $o(buffer)
$ns queue-limit $right $left 100000
set link [$ns link $left $right]
set monitor [$ns makeflowmon Fid]
$ns attach-fmon $link $monitor
set waiting [new Integrator]
$monitor set-pkts-integrator $waiting
set dropfile [open traced.txt w]
set trace [$ns create-trace Drop $dropfile $left $right]
set counter [$link set snoopDrop_]
$trace target [$counter target]
$counter target $trace

proc ends {delay} {
    global ns o left right
    foreach {side router} [list from $left to $right] {
        set $side [$ns node]
        $ns duplex-link [set $side] $router 100e6 $delay DropTail
        $ns queue-limit [set $side] $router 100000
        $ns queue-limit $router [set $side] 100000
    }
    return [list $from $to]
}

set n 0
set k 0
foreach spec [split $o(kinds) ,] {
    incr k
    foreach {agent increase kept number} [split $spec /] {}
    for {set i 0} {$i < $number} {incr i} {
        incr n
        set kind($n) $k
        set tfrc($n) [expr {$agent eq "tfrc"}]
        foreach {from to} [ends [expr {$o(access) + $o(step) * $i}]] {}
        if {$tfrc($n)} {
            set flow($n) [new Agent/TFRC]
            set sink($n) [new Agent/TFRCSink]
            set size [expr {$o(size) - 32}]
            $flow($n) set fsize_ $size
            $flow($n) set tcp_tick_ $o(tick)
            $flow($n) set minrto_ $o(rto)
        } else {
            set flow($n) [new Agent/TCP/Sack1]
            set sink($n) [new Agent/TCPSink/Sack1]
            set size [expr {$o(size) - 40}]
            $flow($n) set window_ $o(window)
            $flow($n) set windowOption_ 1
            $flow($n) set increase_num_ $increase
            $flow($n) set decrease_num_ $kept
            $flow($n) set tcpTick_ 0.0001
            $flow($n) set minrto_ $o(rto)
            $flow($n) set overhead_ $o(jitter)
        }
        $flow($n) set packetSize_ $size
        $flow($n) set fid_ $n
        $flow($n) set ecn_ $o(ecn)
        $ns attach-agent $from $flow($n)
        $ns attach-agent $to $sink($n)
        $ns connect $flow($n) $sink($n)
        if {$tfrc($n)} {
            set source $flow($n)
        } else {
            set source [new Application/FTP]
            $source attach-agent $flow($n)
        }
        set start($n) [$rng uniform 0 $o(spread)]
        $ns at $start($n) "$source start"
    }
}
set greedy $n

proc udp {source name} {
    global ns o n kind flow sink start tfrc
    incr n
    set kind($n) $name
    foreach {from to} [ends $o(access)] {}
    set flow($n) [new Agent/UDP]
    set sink($n) [new Agent/LossMonitor]
    $flow($n) set packetSize_ $o(size)
    $flow($n) set fid_ $n
    $ns attach-agent $from $flow($n)
    $ns attach-agent $to $sink($n)
    $ns connect $flow($n) $sink($n)
    $source attach-agent $flow($n)
}
for {set i 0} {$i < $o(background)} {incr i} {
    set source [new Application/Traffic/Pareto]
    $source set packetSize_ $o(size)
    $source set rate_ 500e3
    $source set burst_time_ 1.0
    $source set idle_time_ 2.0
    $source set shape_ 1.5
    udp $source background
    set start($n) [$rng uniform 0 $o(spread)]
    $ns at $start($n) "$source start"
}
if {$o(cbr) > 0} {
    set source [new Application/Traffic/CBR]
    $source set packetSize_ $o(size)
    $source set rate_ $o(cbr)
    udp $source cbr
    set start($n) $o(on)
    $ns at $o(on) "$source start"
    $ns at $o(off) "$source stop"
}

# Each flow's counters at the queue; flows that sent nothing yet have none.
proc monitors {} {
    global monitor here
    foreach item [$monitor flows] { set here([$item set flowid_]) $item }
}

proc counters {i} {
    global here flow sink greedy tfrc o
    set values {}
    foreach name {parrivals_ pdrops_ pdepartures_ pkts_ pmarks_} {
        lappend values [expr {[info exists here($i)] ? [$here($i) set $name] : 0}]
    }
    if {$i > $greedy} {
        lappend values 0 0 0 0 0 [$sink($i) set npkts_]
    } elseif {$tfrc($i)} {
        lappend values [$flow($i) set ndatapack_] 0 0 0 0
        lappend values [expr {[$sink($i) set bytes_] / $o(size)}]
    } else {
        foreach name {ndatapack_ nrexmitpack_ nrexmit_ ncwndcuts_ necnresponses_ ack_} {
            lappend values [$flow($i) set $name]
        }
    }
    return $values
}

proc linkcounters {} {
    global ns monitor waiting
    $waiting newpoint [$ns now] [$monitor set pkts_]
    set values {}
    foreach name {parrivals_ pdrops_ pdepartures_ pkts_ pmarks_ bdepartures_} {
        lappend values [$monitor set $name]
    }
    lappend values [$waiting set sum_]
    return $values
}

# Delays are taken from one second before `warm`, so that none is of a packet without a mark of
# its arrival, and forgotten at `warm`.
proc prepare {} {
    global greedy here samples
    monitors
    for {set i 1} {$i <= $greedy} {incr i} {
        set samples($i) [new Samples]
        $here($i) set-delay-samples $samples($i)
    }
}

proc warm {} {
    global ns o n greedy samples first linkfirst looks rtt most
    monitors
    for {set i 1} {$i <= $n} {incr i} {
        set first($i) [counters $i]
        set rtt($i) 0
    }
    for {set i 1} {$i <= $greedy} {incr i} { $samples($i) reset }
    set linkfirst [linkcounters]
    set looks 0
    set most 0
    $ns at [expr {[$ns now] + $o(look)}] look
}

proc look {} {
    global ns o greedy tfrc flow looks rtt monitor most
    incr looks
    for {set i 1} {$i <= $greedy} {incr i} {
        if {!$tfrc($i)} {
            set rtt($i) [expr {$rtt($i) + [$flow($i) set rtt_] * [$flow($i) set tcpTick_]}]
        }
    }
    if {[$monitor set pkts_] > $most} { set most [$monitor set pkts_] }
    $ns at [expr {[$ns now] + $o(look)}] look
}

set counts [open counts.txt w]
proc count {m} {
    global ns o n counts here
    monitors
    set line [list [expr {$m * $o(bin)}]]
    for {set i 1} {$i <= $n} {incr i} {
        lappend line [expr {[info exists here($i)] ? [$here($i) set pdepartures_] : 0}]
    }
    puts $counts $line
    incr m
    if {$m * $o(bin) < $o(duration) + 0.5 * $o(bin)} {
        $ns at [expr {$m * $o(bin)}] "count $m"
    }
}

proc finish {} {
    global ns o n greedy tfrc kind start samples first linkfirst looks rtt most counts dropfile
    monitors
    set file [open flows.txt w]
    for {set i 1} {$i <= $n} {incr i} {
        set line [list $i $kind($i) $start($i)]
        lappend line [expr {$i <= $greedy && [$samples($i) cnt] > 0 ? [$samples($i) mean] : 0}]
        lappend line [expr {1.0 * $rtt($i) / $looks}]
        foreach a $first($i) b [counters $i] { lappend line $a $b }
        puts $file $line
    }
    close $file
    set file [open link.txt w]
    set line {}
    foreach a $linkfirst b [linkcounters] { lappend line $a $b }
    puts $file [lappend line $most]
    close $file
    close $counts
    $ns flush-trace
    close $dropfile
    set in [open traced.txt]
    set out [open drops.txt w]
    while {[gets $in line] >= 0} { puts $out [list [lindex $line 1] [lindex $line 7]] }
    close $in
    close $out
    file delete traced.txt
    exit 0
}

$ns at $o(bin) "count 1"
$ns at [expr {$o(warm) - 1}] prepare
$ns at $o(warm) warm
$ns at [expr {$o(duration) + 1e-9}] finish
$ns run
