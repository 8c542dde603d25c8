//! NewReno as `responsefn.NewReno` computes it, operation by operation.
use std::ffi::c_void;

#[path = "../../../../dfcmodel/network/endpoints/native/hopflow_cc.rs"]
mod hopflow_cc;
use hopflow_cc::{Config, Control, Event, Rule};

fn positive(number: f64) -> Option<f64> {
    if number > 0.0 {
        Some(number)
    } else {
        None
    }
}

unsafe extern "C" fn init(config: *const Config, _seed: u64, control: *mut Control) -> *mut c_void {
    let (config, control) = (&*config, &mut *control);
    control.window = positive(config.initial_window).unwrap_or(1.0);
    control.ssthresh = positive(config.initial_ssthresh).unwrap_or(f64::INFINITY);
    Box::into_raw(Box::new(0u8)) as *mut c_void // the window is all its state
}

unsafe extern "C" fn on_sent(_state: *mut c_void, event: *const Event, _control: *mut Control) {
    assert!((*event).acked().is_empty() && (*event).lost().is_empty());
}

unsafe extern "C" fn on_ack(_state: *mut c_void, event: *const Event, control: *mut Control) {
    let (event, control) = (&*event, &mut *control);
    assert!((event.acked().len(), event.lost().len()) == (event.acked_count as usize, event.lost_count as usize));
    if event.has(hopflow_cc::STARTS_RECOVERY | hopflow_cc::MARK_EVENT) {
        let window = 0.5 * control.window;
        control.window = window.max(1.0);
        control.ssthresh = window.max(2.0);
    }
    for _ in 0..event.growth {
        control.window += if control.window < control.ssthresh { 1.0 } else { 1.0 / control.window };
    }
}

unsafe extern "C" fn on_timeout(_state: *mut c_void, event: *const Event, control: *mut Control) {
    let control = &mut *control;
    assert!((*event).acked().is_empty() && (*event).lost().len() == (*event).lost_count as usize);
    control.ssthresh = (0.5 * control.window).max(2.0);
    control.window = 1.0;
}

unsafe extern "C" fn destroy(state: *mut c_void) {
    drop(Box::from_raw(state as *mut u8));
}

static RULE: Rule = Rule {
    abi: hopflow_cc::ABI,
    size: std::mem::size_of::<Rule>() as u64,
    name: c"NewReno in Rust".as_ptr(),
    claims: c"newreno".as_ptr(),
    recovery: c"sack".as_ptr(),
    observed: std::ptr::null(),
    flags: 0,
    ecn: hopflow_cc::ECT0,
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
