# A chain of nodes with drop-tail queues and two greedy TCP flows (takano2006, Fig. 5), in ns-2.
#
#   ns chain.tcl key value ...
#
# Nodes are numbered from 1. The target flow runs from node 1 to the last node, the background
# flow from node `cross` to the last node; their agents sit at these nodes, so a window goes
# straight into the queue of the first link. Packets have 1500 bytes, the first one of a flow 40.
#
# Writes into the working folder:
#   samples.txt  time, packets of each flow that any link has begun to send, per flow cwnd and
#                ssthresh, then the number of waiting packets of every node but the last
#   drops.txt    ns-2 trace lines of the dropped packets
#   nodes.txt    node, arrivals, departures, drops, most packets seen waiting
#   flows.txt    flow, start, packets sent, of these sent again, timeouts, window cuts, acknowledged

array set o {
    agent      Agent/TCP/Newreno
    bandwidth  370e6
    delay      0.1e-3
    nodes      30
    cross      15
    buffer     1800
    window     5000
    duration   3.0
    sample     1e-3
    peak       20e-6
    jitter     0
    overhead   0
    vegas      1
    seed       0
}
array set o $argv

set ns [new Simulator]

# Start times: 0 and 0.1 s, each later by a uniform random time below `jitter`. `overhead` is the
# agents' own random delay before each packet. Every seed is a substream of two ns-2 random number
# streams, one for the starts and ns-2's default one for the overhead.
[set defaultRNG] seed 1
set rng [new RNG]
for {set i 0} {$i < $o(seed)} {incr i} {
    $rng next-substream
    [set defaultRNG] next-substream
}
set start(target) [expr {$o(jitter) * [$rng uniform 0 1]}]
set start(background) [expr {0.1 + $o(jitter) * [$rng uniform 0 1]}]

for {set i 1} {$i <= $o(nodes)} {incr i} { set node($i) [$ns node] }
set last $o(nodes)
set dropfile [open drops.txt w]
for {set i 1} {$i < $last} {incr i} {
    set j [expr {$i + 1}]
    $ns duplex-link $node($i) $node($j) $o(bandwidth) $o(delay) DropTail
    $ns queue-limit $node($i) $node($j) $o(buffer)
    $ns queue-limit $node($j) $node($i) $o(buffer)
    set link [$ns link $node($i) $node($j)]
    if {$i < $o(cross)} {
        set monitor($i) [$ns monitor-queue $node($i) $node($j) ""]
    } else {
        # Beyond the merge the packets are counted flow by flow.
        set monitor($i) [$ns makeflowmon Fid]
        $ns attach-fmon $link $monitor($i)
    }
    # Drops, and nothing else, are traced.
    set trace [$ns create-trace Drop $dropfile $node($i) $node($j)]
    set counter [$link set snoopDrop_]
    $trace target [$counter target]
    $counter target $trace
}

set flows {target background}
foreach flow $flows id {1 2} first [list 1 $o(cross)] {
    set tcp($flow) [new $o(agent)]
    $tcp($flow) set packetSize_ 1460
    $tcp($flow) set window_ $o(window)
    $tcp($flow) set overhead_ $o(overhead)
    $tcp($flow) set ttl_ 64
    $tcp($flow) set fid_ $id
    if {$o(agent) eq "Agent/TCP/Vegas"} {
        # Packets of its own that Vegas tolerates in the queues: ns-2's defaults times `vegas`.
        foreach {name value} {v_alpha_ 1 v_beta_ 3 v_gamma_ 1} {
            $tcp($flow) set $name [expr {$o(vegas) * $value}]
        }
    }
    set sink [new Agent/TCPSink]
    $sink set ttl_ 64
    $ns attach-agent $node($first) $tcp($flow)
    $ns attach-agent $node($last) $sink
    $ns connect $tcp($flow) $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($flow)
    $ns at $start($flow) "$ftp start"
}

# Departures of a flow from the queues, over all links of its path.
proc departures {} {
    global o monitor last
    set target 0
    set background 0
    for {set i 1} {$i < $o(cross)} {incr i} { incr target [$monitor($i) set pdepartures_] }
    for {} {$i < $last} {incr i} {
        foreach flow [$monitor($i) flows] {
            if {[$flow set flowid_] == 1} {
                incr target [$flow set pdepartures_]
            } else {
                incr background [$flow set pdepartures_]
            }
        }
    }
    return [list $target $background]
}

set samples [open samples.txt w]
proc sample {k} {
    global ns o monitor last samples flows tcp most
    set line [list [expr {$k * $o(sample)}]]
    eval lappend line [departures]
    foreach flow $flows { lappend line [$tcp($flow) set cwnd_] [$tcp($flow) set ssthresh_] }
    for {set i 1} {$i < $last} {incr i} {
        set waiting [$monitor($i) set pkts_]
        if {$waiting > $most($i)} { set most($i) $waiting }
        lappend line $waiting
    }
    puts $samples $line
    incr k
    if {$k * $o(sample) < $o(duration) + 0.5 * $o(sample)} {
        $ns at [expr {$k * $o(sample)}] "sample $k"
    }
}

# The two nodes where packets enter are looked at more often, for the peak of their queues.
proc peak {k} {
    global ns o monitor most
    foreach i [list 1 $o(cross)] {
        set waiting [$monitor($i) set pkts_]
        if {$waiting > $most($i)} { set most($i) $waiting }
    }
    incr k
    $ns at [expr {$k * $o(peak)}] "peak $k"
}

proc finish {} {
    global ns o monitor last samples dropfile most flows tcp start
    $ns flush-trace
    close $dropfile
    close $samples
    set file [open nodes.txt w]
    for {set i 1} {$i < $last} {incr i} {
        # A drop-tail queue drops only what finds limit_ - 1 packets waiting.
        set drops [$monitor($i) set pdrops_]
        if {$drops > 0} { set most($i) [expr {$o(buffer) - 1}] }
        puts $file "$i [$monitor($i) set parrivals_] [$monitor($i) set pdepartures_] $drops $most($i)"
    }
    close $file
    set file [open flows.txt w]
    foreach flow $flows {
        set line [list $flow $start($flow)]
        foreach name {ndatapack_ nrexmitpack_ nrexmit_ ncwndcuts_ ack_} {
            lappend line [$tcp($flow) set $name]
        }
        puts $file $line
    }
    close $file
    exit 0
}

for {set i 1} {$i < $last} {incr i} { set most($i) 0 }
$ns at $o(sample) "sample 1"
$ns at $o(peak) "peak 1"
$ns at [expr {$o(duration) + 1e-9}] "finish"
$ns run
