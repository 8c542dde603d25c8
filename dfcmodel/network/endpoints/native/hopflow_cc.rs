//! hopflow_cc.rs: the declarations of `hopflow_cc.h` (ABI version 1) for a congestion control in Rust. No crate is
//! needed; the comments of the header hold. Include it with `#[path = "..."] mod hopflow_cc;`, or copy it:
//!
//!     rustc -O --edition 2021 --crate-type cdylib mycc.rs -o libcc.so
#![allow(dead_code, non_camel_case_types)]

use std::ffi::{c_char, c_void};
use std::mem::{offset_of, size_of};
use std::slice;

pub const ABI: u64 = 1;
pub const SLOT: usize = 64;
pub const NUMBERS: usize = 32;

pub const BYTES: u64 = 1;
pub const NANOSECONDS: u64 = 2;
pub const FLIGHT: u64 = 4;

pub const NOT_ECT: u64 = 0;
pub const ECT1: u64 = 1;
pub const ECT0: u64 = 2;

pub const STARTS_RECOVERY: u64 = 1;
pub const IN_RECOVERY: u64 = 2;
pub const PERSISTENT_CONGESTION: u64 = 4;
pub const APP_LIMITED: u64 = 8;
pub const WINDOW_LIMITED: u64 = 16;
pub const MARK_EVENT: u64 = 32;
pub const REPAIRING: u64 = 64;

/// The connection, for `init`.
#[repr(C)]
pub struct Config {
    pub flow: u64,
    pub packet_bytes: u64,
    pub max_window: f64,
    pub initial_window: f64,
    pub initial_ssthresh: f64,
    pub max_ack_delay: f64,
}

/// A packet that was sent.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Packet {
    pub number: u64,
    pub data: u64,
    pub bytes: u64,
    pub sent: f64,
    pub sent_ns: u64,
    pub slot: [u8; SLOT],
}

/// What has happened.
#[repr(C)]
pub struct Event {
    pub now: f64,
    pub now_ns: u64,
    pub latest_rtt: f64,
    pub smoothed_rtt: f64,
    pub rtt_variance: f64,
    pub min_rtt: f64,
    pub in_flight_before: u64,
    pub in_flight: u64,
    pub marked: u64,
    pub growth: u64,
    pub flags: u64,
    pub acked_count: u64,
    pub lost_count: u64,
    pub acked: *const Packet,
    pub lost: *const Packet,
    pub packet: *mut Packet,
}

impl Event {
    /// The acknowledged packets.
    pub fn acked(&self) -> &[Packet] {
        // SAFETY: the simulation passes `acked_count` packets, which stay valid during the call.
        unsafe { packets(self.acked, self.acked_count) }
    }

    /// The lost packets.
    pub fn lost(&self) -> &[Packet] {
        // SAFETY: the simulation passes `lost_count` packets, which stay valid during the call.
        unsafe { packets(self.lost, self.lost_count) }
    }

    /// Whether a flag is set.
    pub fn has(&self, flag: u64) -> bool {
        self.flags & flag != 0
    }
}

/// An array of packets. The pointer may be null if the count is 0.
unsafe fn packets<'a>(first: *const Packet, count: u64) -> &'a [Packet] {
    if count == 0 {
        return &[];
    }
    // SAFETY: `first` points to `count` packets.
    unsafe { slice::from_raw_parts(first, count as usize) }
}

/// What the rule decides.
#[repr(C)]
pub struct Control {
    pub window: f64,
    pub ssthresh: f64,
    pub pacing_rate: f64,
    pub departure: f64,
    pub timer: f64,
    pub departure_ns: u64,
    pub timer_ns: u64,
    pub send_quantum: f64,
}

pub type Init = unsafe extern "C" fn(config: *const Config, seed: u64, control: *mut Control) -> *mut c_void;
pub type Callback = unsafe extern "C" fn(state: *mut c_void, event: *const Event, control: *mut Control);
pub type Observe = unsafe extern "C" fn(state: *mut c_void, numbers: *mut f64) -> *const c_char;
pub type Destroy = unsafe extern "C" fn(state: *mut c_void);

/// The functions of a rule. All but `init`, `on_ack` and `on_timeout` may be `None`. Strings end with a zero byte:
/// `c"newreno".as_ptr()`.
#[repr(C)]
pub struct Rule {
    pub abi: u64,
    pub size: u64,
    pub name: *const c_char,
    pub claims: *const c_char,
    pub recovery: *const c_char,
    pub observed: *const c_char,
    pub flags: u64,
    pub ecn: u64,
    pub init: Option<Init>,
    pub on_sent: Option<Callback>,
    pub on_ack: Option<Callback>,
    pub on_timeout: Option<Callback>,
    pub on_timer: Option<Callback>,
    pub observe: Option<Observe>,
    pub destroy: Option<Destroy>,
}

// SAFETY: a table is constant.
unsafe impl Sync for Rule {}

const POINTER: usize = size_of::<*const c_void>();
const _: () = assert!(size_of::<Config>() == 48);
const _: () = assert!(size_of::<Packet>() == 40 + SLOT && offset_of!(Packet, slot) == 40);
const _: () = assert!(offset_of!(Event, flags) == 80 && offset_of!(Event, acked) == 104);
const _: () = assert!(size_of::<Event>() == 104 + 3 * POINTER);
const _: () = assert!(size_of::<Control>() == 64);
const _: () = assert!(POINTER == 8 && size_of::<Rule>() == 15 * 8);
