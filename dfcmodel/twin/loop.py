"""The time loop of the JAX model: sources, hosts, links and queues in the order of the engine."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.twin import dfc, orders, pause
from dfcmodel.twin.links import of_all_links, of_links, over_links

if TYPE_CHECKING:
    from dfcmodel.twin.plans import Shape, TwinPlan

__all__ = ["QueueRecords", "compile_loop"]


class QueueRecords(NamedTuple):
    """Records of a run by flow, or by queue for ``queued`` and ``lost``, one row per sample, as JAX arrays.

    ``efficiency`` (T, F); ``queued`` packets at the ends of the intervals (T, C); ``backlog`` at the
    hosts (T, F); ``lost`` per interval (T, C); ``delivered`` to the receivers, cumulative, (T, F).
    """

    efficiency: Any
    queued: Any
    backlog: Any
    lost: Any
    delivered: Any


class State(NamedTuple):
    """State of the loop: F flows with C queues, in packets; feedback, order or paused is None without such links."""

    queue: Any  # (C,)
    wire: Any  # (M, C) departures of the last steps, in turn
    transit: Any  # (F,) packets on links
    feedback: dfc.Feedback | None
    order: orders.Order | None
    paused: pause.Paused | None
    access: Any  # (M, F)
    acks: Any  # (A, F)
    backlog: Any  # (F,)
    window: Any  # (F,)
    outstanding: Any  # (F,)
    delivered: Any  # (F,)


@functools.cache
def compile_loop() -> Callable[[Shape, TwinPlan, Any], QueueRecords]:
    """Return the loop as a compiled function (shape, plan, parameters); cached per process."""
    import jax

    return jax.jit(simulate, static_argnums=0)


def simulate(shape: Shape, plan: TwinPlan, p: Any) -> QueueRecords:
    """Run all steps from an empty network with parameters ``p`` and return the records of the samples."""
    import jax
    import jax.numpy as jnp

    F, C = len(plan.first), len(plan.flow_of)
    p = jax.tree.map(lambda value: jnp.asarray(value, dtype=float), p)
    idle = jnp.zeros(F)
    state = State(
        queue=jnp.zeros(C),
        wire=jnp.zeros((shape.slots, C)),
        transit=idle,
        feedback=dfc.begin(plan, p) if shape.diffuses else None,
        order=orders.begin(plan, shape) if shape.in_order else None,
        paused=pause.begin(plan, shape) if shape.pauses else None,
        access=jnp.zeros((shape.slots, F)),
        acks=jnp.zeros((shape.acks, F)),
        backlog=idle,
        window=jnp.ones(F),
        outstanding=idle,
        delivered=idle,
    )
    delay = plan.delay[plan.link_of]
    capacity = _over_flows(plan, of_links(plan, p.link_rate) * plan.step * delay)
    # the fraction of a step of the way back is added to the forward delay, but it is no part of the path
    capacity *= _over_flows(plan, plan.lag + plan.part) / _over_flows(plan, delay)

    def one_step(carry: Any, k: Any) -> tuple[Any, None]:
        state, transit, lost = carry
        state, dropped = step(shape, plan, p, state, k)
        return (state, transit + state.transit, lost + dropped), None

    def one_sample(state: State, s: Any, size: int = shape.every) -> tuple[State, QueueRecords]:
        steps = s * shape.every + jnp.arange(size)
        (state, transit, lost), _ = jax.lax.scan(one_step, (state, idle, jnp.zeros(C)), steps)
        efficiency = transit / size / capacity
        return state, QueueRecords(efficiency, state.queue, state.backlog, lost, state.delivered)

    samples, remaining = divmod(shape.steps, shape.every)
    state, run = jax.lax.scan(one_sample, state, jnp.arange(samples))
    if not remaining:
        return run
    _, shorter = one_sample(state, samples, remaining)
    records: QueueRecords = jax.tree.map(lambda rows, row: jnp.concatenate([rows, row[None]]), run, shorter)
    return records


def step(shape: Shape, plan: TwinPlan, p: Any, s: State, k: Any) -> tuple[State, Any]:
    """Return the state after step k from state ``s`` by parameters ``p``, and the step's drops by queue, (C,)."""
    import jax.numpy as jnp

    rate = of_all_links(plan, p.link_rate) * plan.step
    host_service, feedback = rate[plan.link_of[plan.first]], s.feedback
    if s.feedback is not None:
        feedback, host_service = dfc.exchange_feedback(plan, p, s.feedback, s.queue, k)
    if s.paused is not None:
        paused_service, paused_host_service = pause.reductions(plan, p, s.paused, k)
        rate, host_service = rate - paused_service, host_service - paused_host_service

    # receivers and sources
    due = _arrivals(s.wire, plan.lag, plan.part, k)
    arrived = due[plan.last]
    acked = s.acks[(k - plan.ack_delay) % shape.acks, np.arange(len(plan.first))]
    window = _window(plan, p, s.window, acked)
    outstanding = s.outstanding - acked
    allowed = _smaller(window, p.max_window) - outstanding
    allowed = jnp.where(allowed > 0.0, allowed, 0.0)
    emitted = jnp.where(plan.constant, p.rate * plan.step, allowed)
    emitted = jnp.where(k >= plan.start, emitted, 0.0)
    backlog = s.backlog + emitted

    # hosts, then nodes
    sent = jnp.where(plan.host == 2, backlog, _smaller(backlog, host_service))
    access = s.access.at[k % shape.slots].set(sent)
    entering = _arrivals(access, plan.access_lag, plan.access_part, k)
    arrivals = jnp.where(plan.before < 0, entering[plan.flow_of], due[plan.before])
    present = s.queue + arrivals
    order, out = s.order, None
    if s.order is not None:
        order, out = orders.serve(plan, s.order, arrivals, rate, k)
    if feedback is not None:
        service = feedback.sends * plan.step
        separate = jnp.where(present < service, present, service)  # every flow has a separate queue
        out = separate if out is None else jnp.where(plan.diffuses[plan.link_of], separate, out)
    queue = present - out
    dropped = _drops(plan, p.buffer, shape.smoothing, arrivals, queue)
    queue = queue - dropped
    if order is not None:
        order = orders.remove_dropped(plan, order, dropped, k)
    paused = s.paused
    if paused is not None:
        paused = pause.update(p, paused, over_links(plan, queue), k)
    return (
        State(
            queue=queue,
            wire=s.wire.at[k % shape.slots].set(out),
            transit=s.transit + _over_flows(plan, out - due),
            feedback=feedback,
            order=order,
            paused=paused,
            access=access,
            acks=s.acks.at[k % shape.acks].set(arrived),
            backlog=backlog - sent,
            window=window,
            outstanding=outstanding + emitted,
            delivered=s.delivered + arrived,
        ),
        dropped,
    )


def _arrivals(sent: Any, lag: Any, part: Any, k: Any) -> Any:
    """Return arrivals in step k, (C,), from a ring of departures, (M, C), ``lag`` steps before, ``part`` one more."""
    size, columns = len(sent), np.arange(sent.shape[1])
    current, previous = sent[(k - lag) % size, columns], sent[(k - lag - 1) % size, columns]
    return current + part * (previous - current)


def _over_flows(plan: TwinPlan, values: Any) -> Any:
    """Return the sums of ``values``, one per queue, over the queues of each flow, (F,)."""
    import jax

    return jax.ops.segment_sum(values, plan.flow_of, num_segments=len(plan.first))


def _smaller(x: Any, y: Any) -> Any:
    """Return the smaller value, element by element; at a tie the derivative is that of ``y``."""
    import jax.numpy as jnp

    return jnp.where(x < y, x, y)


def _window(plan: TwinPlan, p: Any, window: Any, acked: Any) -> Any:
    """Return the windows, (F,), after ``acked`` packets, by parameters p: slow start, then a linear growth."""
    import jax.numpy as jnp

    room = _smaller(p.slow_start_threshold, p.max_window) - window
    slow = jnp.where(room > 0.0, _smaller(acked, room), 0.0)
    window = window + slow
    return window + plan.increase * (acked - slow) / window


def _drops(plan: TwinPlan, buffer: Any, smoothing: float, arrivals: Any, queue: Any) -> Any:
    """Return the drops, (C,), of ``queue`` packets beyond full buffers, in proportion to the step's arrivals."""
    import jax
    import jax.numpy as jnp

    def of_buffer(values: Any) -> Any:
        return jax.ops.segment_sum(values, plan.buffer_of, num_segments=len(values))[plan.buffer_of]

    excess = of_buffer(queue) - of_links(plan, buffer)
    if smoothing > 0.0:
        excess = smoothing * jax.nn.softplus(excess / smoothing)
    else:
        excess = jnp.where(excess > 0.0, excess, 0.0)
    excess = jnp.where(plan.bounded, excess, 0.0)
    total = of_buffer(arrivals)
    part = _smaller(excess / jnp.where(total > 0.0, total, 1.0), 1.0)
    return _smaller(arrivals * part, queue)
