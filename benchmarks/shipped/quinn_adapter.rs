//! Adapter from quinn-proto's congestion control to hopflow_cc.h. BSD-3-Clause.
//!
//! Compiled with an unmodified release of the crate quinn-proto; `--cfg algorithm="cubic"` (RFC 9438 since 0.11.15,
//! RFC 8312 before), `"newreno"` (RFC 9002, Sect. 7) or `"bbr"`. It calls the controller as the connection does: each
//! acknowledged packet, the end of the ACK, then one congestion event for all lost packets.
//!
//! Clock: ns, as `Instant`s after one that is fixed when the connection begins. Windows: bytes, which limit bytes in
//! flight. Pace: the connection's, a window per 0.8 of the smoothed round-trip time, in bursts of 2 ms, 10 to 256
//! packets. Expiry of the retransmission timer of the simulation is persistent congestion (RFC 9002, Sect. 7.6).
//!
//! `RttEstimator` has no public constructor. `Mirror` declares the same fields; `init` compares what the crate reads
//! from one, and returns null if the layouts differ.
use std::ffi::c_void;
use std::mem::{size_of, transmute_copy};
use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn_proto::congestion::{Controller, ControllerFactory};
use quinn_proto::RttEstimator;

#[path = "hopflow_cc.rs"]
mod hopflow_cc;
use hopflow_cc::{Config, Control, Event, Rule};

#[cfg(algorithm = "bbr")]
use quinn_proto::congestion::BbrConfig as Algorithm;
#[cfg(algorithm = "cubic")]
use quinn_proto::congestion::CubicConfig as Algorithm;
#[cfg(algorithm = "newreno")]
use quinn_proto::congestion::NewRenoConfig as Algorithm;

#[cfg(algorithm = "cubic")]
const NAMES: (&std::ffi::CStr, &std::ffi::CStr) = (c"quinn CUBIC", c"cubic-rfc9438");
#[cfg(algorithm = "newreno")]
const NAMES: (&std::ffi::CStr, &std::ffi::CStr) = (c"quinn NewReno", c"newreno");
#[cfg(algorithm = "bbr")]
const NAMES: (&std::ffi::CStr, &std::ffi::CStr) = (c"quinn BBR", c"other"); // an older version than the draft's

/// The fields of `RttEstimator`.
#[allow(dead_code)]
struct Mirror {
    latest: Duration,
    smoothed: Option<Duration>,
    var: Duration,
    min: Duration,
}

fn estimator(latest: Duration, smoothed: Duration, var: Duration, min: Duration) -> RttEstimator {
    const { assert!(size_of::<Mirror>() == size_of::<RttEstimator>()) };
    let mirror = Mirror { latest, smoothed: Some(smoothed), var, min };
    // SAFETY: the sizes are equal, and `init` compares what is read.
    unsafe { transmute_copy(&mirror) }
}

fn layouts_agree() -> bool {
    let [a, b, c, d] = [7, 5, 3, 2].map(Duration::from_millis);
    let read = estimator(a, b, c, d);
    read.get() == b && read.min() == d && read.conservative() == a
}

struct State {
    controller: Box<dyn Controller>,
    start: Instant,
    packet: f64,
    srtt: f64,
}

impl State {
    fn at(&self, ns: u64) -> Instant {
        self.start + Duration::from_nanos(ns)
    }

    fn answer(&self, control: &mut Control) {
        let window = self.controller.window() as f64;
        control.window = window;
        control.ssthresh = self.controller.metrics().ssthresh.filter(|&s| s < u64::MAX).map_or(f64::INFINITY, |s| s as f64);
        if self.srtt > 0.0 {
            control.pacing_rate = 1.25 * window / self.srtt;
            control.send_quantum = (window * 2e-3 / self.srtt).clamp(10.0 * self.packet, 256.0 * self.packet);
        }
    }
}

unsafe extern "C" fn init(config: *const Config, _seed: u64, control: *mut Control) -> *mut c_void {
    let config = &*config;
    if !layouts_agree() {
        return std::ptr::null_mut();
    }
    let mut algorithm = Algorithm::default();
    if config.initial_window > 0.0 {
        algorithm.initial_window((config.initial_window * config.packet_bytes as f64) as u64);
    }
    let start = Instant::now();
    let mut controller = Arc::new(algorithm).build(start, config.packet_bytes as u16);
    controller.on_mtu_update(config.packet_bytes as u16); // as when the connection has found the size
    let state = State { controller, start, packet: config.packet_bytes as f64, srtt: 0.0 };
    state.answer(&mut *control);
    Box::into_raw(Box::new(state)) as *mut c_void
}

unsafe extern "C" fn on_sent(state: *mut c_void, event: *const Event, control: *mut Control) {
    let (state, event) = (&mut *(state as *mut State), &*event);
    let (now, packet) = (state.at(event.now_ns), &*event.packet);
    state.controller.on_sent(now, packet.bytes, packet.number);
    state.answer(&mut *control);
}

fn lose(state: &mut State, event: &Event, persistent: bool) {
    if event.lost_count > 0 {
        let lost = event.lost();
        let (now, sent) = (state.at(event.now_ns), state.at(lost[lost.len() - 1].sent_ns));
        let bytes = lost.iter().map(|packet| packet.bytes).sum();
        state.controller.on_congestion_event(now, sent, persistent, bytes);
    }
}

unsafe extern "C" fn on_ack(state: *mut c_void, event: *const Event, control: *mut Control) {
    let (state, event) = (&mut *(state as *mut State), &*event);
    if event.acked_count > 0 {
        let now = state.at(event.now_ns);
        let times = [event.latest_rtt, event.smoothed_rtt, event.rtt_variance, event.min_rtt];
        let [latest, smoothed, var, min] = times.map(Duration::from_secs_f64);
        let rtt = estimator(latest, smoothed, var, min);
        let limited = event.has(hopflow_cc::APP_LIMITED);
        for packet in event.acked() {
            let sent = state.at(packet.sent_ns);
            state.controller.on_ack(now, sent, packet.bytes, limited, &rtt);
        }
        let largest = event.acked().last().map(|packet| packet.number);
        state.controller.on_end_acks(now, event.in_flight, limited, largest);
        state.srtt = event.smoothed_rtt;
    }
    lose(state, event, false);
    state.answer(&mut *control);
}

unsafe extern "C" fn on_timeout(state: *mut c_void, event: *const Event, control: *mut Control) {
    let (state, event) = (&mut *(state as *mut State), &*event);
    lose(state, event, true);
    state.answer(&mut *control);
}

unsafe extern "C" fn destroy(state: *mut c_void) {
    drop(Box::from_raw(state as *mut State));
}

static RULE: Rule = Rule {
    abi: hopflow_cc::ABI,
    size: size_of::<Rule>() as u64,
    name: NAMES.0.as_ptr(),
    claims: NAMES.1.as_ptr(),
    recovery: c"rack".as_ptr(),
    observed: std::ptr::null(),
    flags: hopflow_cc::BYTES | hopflow_cc::FLIGHT,
    ecn: hopflow_cc::NOT_ECT,
    init: Some(init),
    on_sent: Some(on_sent),
    on_ack: Some(on_ack),
    on_timeout: Some(on_timeout),
    on_timer: None,
    observe: None,
    destroy: Some(destroy),
};

#[no_mangle]
pub extern "C" fn hopflow_cc(abi: u64) -> *const Rule {
    if abi == hopflow_cc::ABI {
        &RULE
    } else {
        std::ptr::null()
    }
}
