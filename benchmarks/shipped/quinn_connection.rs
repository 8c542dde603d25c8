//! One connection of quinn-proto over one simulated path, in virtual time. BSD-3-Clause.
//!
//! `connection ALGORITHM RATE DELAY BUFFER DURATION DATA DROPS`: client and server of an unmodified release of the
//! crate, with its recovery, probes, pacer, flow control and TLS. The client sends over a bottleneck of RATE bytes/s
//! with room for BUFFER packets, behind which a packet takes DELAY ns; datagrams of the server take DELAY ns. DURATION is
//! in s. DATA: bytes that the application writes, and the time in ms at which it writes the next ones
//! (`1000000,40000,5000000`); `-`: as many as fit. DROPS: first and last numbers of datagrams of the client that are
//! lost (`500-500,700-720`), counted from 0; `-`: none.
//!
//! Each row of the output is a datagram of the client, or a call of the connection to its congestion control, which
//! `Recorder` passes on: time in ns; `sent`, `ack` of a packet, `loss` for a congestion event, or `persistent` for one
//! in persistent congestion; the number of the datagram, at a congestion event the newest lost one; window, threshold
//! and bytes in flight after it; smoothed round-trip time in ns; packets lost so far.
//!
//! Clock: `Instant`s after one that is fixed at the start. A host sends one datagram per microsecond, so that the time
//! at which a packet was sent identifies it.
use std::any::Any;
use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use quinn_proto::congestion::{
    BbrConfig, Controller, ControllerFactory, ControllerMetrics, CubicConfig, NewRenoConfig,
};
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig,
    RttEstimator, ServerConfig, StreamId, TransportConfig, VarInt,
};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::{DigitallySignedStruct, Error, SignatureScheme};

const PAYLOAD: u16 = 1472; // bytes of UDP in an IPv4 packet of 1500 bytes
const HEADERS: u64 = 28;
const SEND_TIME: Duration = Duration::from_micros(1);
const UNLIMITED: u64 = 1 << 40; // bytes of flow control

/// Time, event, when the packet was sent, window, threshold, bytes in flight, smoothed round-trip time.
type Row = (Instant, &'static str, Instant, u64, u64, u64, Duration);

/// What the connection tells its congestion control.
#[derive(Default)]
struct Log {
    rows: Vec<Row>,
    window: u64,
    threshold: u64,
    in_flight: u64,
    rtt: Duration,
}

impl Log {
    fn add(&mut self, now: Instant, event: &'static str, sent: Instant) {
        self.rows.push((now, event, sent, self.window, self.threshold, self.in_flight, self.rtt));
    }
}

struct Recorder {
    inner: Box<dyn Controller>,
    log: Arc<Mutex<Log>>,
}

impl Recorder {
    /// Return the log with the present window.
    fn log(&self) -> MutexGuard<'_, Log> {
        let mut log = self.log.lock().unwrap();
        log.window = self.inner.window();
        log.threshold = self.inner.metrics().ssthresh.unwrap_or(u64::MAX);
        log
    }
}

impl Controller for Recorder {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.inner.on_sent(now, bytes, last_packet_number);
        self.log().in_flight += bytes;
    }
    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
        let mut log = self.log();
        log.in_flight = log.in_flight.saturating_sub(bytes);
        log.rtt = rtt.get();
        log.add(now, "ack", sent);
    }
    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.inner.on_end_acks(now, in_flight, app_limited, largest);
        self.log().in_flight = in_flight; // without datagrams of ACKs alone, which `on_sent` has
    }
    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost_bytes: u64) {
        self.inner.on_congestion_event(now, sent, is_persistent, lost_bytes);
        let mut log = self.log();
        log.in_flight = log.in_flight.saturating_sub(lost_bytes);
        log.add(now, if is_persistent { "persistent" } else { "loss" }, sent);
    }
    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
    }
    fn window(&self) -> u64 {
        self.inner.window()
    }
    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Recorder { inner: self.inner.clone_box(), log: self.log.clone() })
    }
    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

struct Recorded {
    algorithm: String,
    log: Arc<Mutex<Log>>,
}

impl ControllerFactory for Recorded {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let inner = match self.algorithm.as_str() {
            "cubic" => Arc::new(CubicConfig::default()).build(now, current_mtu),
            "newreno" => Arc::new(NewRenoConfig::default()).build(now, current_mtu),
            "bbr" => Arc::new(BbrConfig::default()).build(now, current_mtu),
            name => panic!("{name}: must be cubic, newreno or bbr"),
        };
        Box::new(Recorder { inner, log: self.log.clone() })
    }
}

/// Accepts the server's key, whatever it is.
#[derive(Debug)]
struct AnyKey;

impl ServerCertVerifier for AnyKey {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }
    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

/// Return the configurations of a client and of a server with a raw public key (RFC 7250).
fn tls() -> (QuicClientConfig, QuicServerConfig) {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = [&rustls::version::TLS13];
    let mut pkcs8 = vec![0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20]; // RFC 8410, Sect. 7
    pkcs8.extend([7; 32]);
    let key = rustls::crypto::ring::sign::any_eddsa_type(&PrivatePkcs8KeyDer::from(pkcs8)).unwrap();
    let public = CertificateDer::from(key.public_key().unwrap().to_vec());
    let certified = Arc::new(rustls::sign::CertifiedKey::new(vec![public], key));
    let client = rustls::ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&versions)
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyKey))
        .with_no_client_auth();
    let server = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&versions)
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(certified)));
    (client.try_into().unwrap(), server.try_into().unwrap())
}

fn transport() -> TransportConfig {
    let mut config = TransportConfig::default();
    config.max_idle_timeout(None);
    config.initial_mtu(PAYLOAD).mtu_discovery_config(None);
    config.receive_window(VarInt::from_u64(UNLIMITED).unwrap());
    config.stream_receive_window(VarInt::from_u64(UNLIMITED).unwrap());
    config.send_window(1 << 26);
    config
}

struct Host {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    address: SocketAddr,
    next: Option<Instant>, // when the next datagram may leave; None: when something has happened
}

impl Host {
    /// Let a datagram leave, after the time that the host takes for one.
    fn wake(&mut self, now: Instant) {
        self.next.get_or_insert(now + SEND_TIME);
    }

    fn due(&mut self) -> Option<Instant> {
        let timeout = self.connection.as_mut().and_then(|(_, connection)| connection.poll_timeout());
        self.next.into_iter().chain(timeout).min()
    }

    fn receive(&mut self, now: Instant, from: SocketAddr, ecn: Option<EcnCodepoint>, datagram: &[u8]) {
        let mut buffer = Vec::new();
        match self.endpoint.handle(now, from, None, ecn, datagram.into(), &mut buffer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => self.connection.as_mut().unwrap().1.handle_event(event),
            Some(DatagramEvent::NewConnection(incoming)) => {
                self.connection = self.endpoint.accept(incoming, now, &mut buffer, None).ok();
            }
            _ => {}
        }
        self.wake(now);
    }

    fn process(&mut self, now: Instant) {
        let Some((handle, connection)) = self.connection.as_mut() else { return };
        let is_due = connection.poll_timeout().is_some_and(|due| due <= now);
        if is_due {
            connection.handle_timeout(now);
        }
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while connection.poll().is_some() {}
        if is_due {
            self.wake(now);
        }
    }

    fn send(&mut self, now: Instant) -> Option<(Option<EcnCodepoint>, Vec<u8>)> {
        self.next.take_if(|next| *next <= now)?;
        let mut buffer = Vec::new();
        let transmit = self.connection.as_mut()?.1.poll_transmit(now, 1, &mut buffer)?;
        self.wake(now);
        Some((transmit.ecn, buffer))
    }
}

fn list(text: &str, separator: char) -> Vec<u64> {
    text.split(separator).filter_map(|part| part.parse().ok()).collect()
}

fn main() {
    let options: Vec<String> = std::env::args().skip(1).collect();
    let [algorithm, rate, delay, buffer, duration, data, drops] = &options[..] else {
        panic!("must be ALGORITHM RATE DELAY BUFFER DURATION DATA DROPS");
    };
    let number = |text: &String| text.parse::<u64>().unwrap();
    let (rate, delay, buffer) = (number(rate), Duration::from_nanos(number(delay)), number(buffer) as usize);
    let drops: Vec<Vec<u64>> =
        drops.split(',').map(|range| list(range, '-')).filter(|range| range.len() == 2).collect();
    let mut data = list(data, ',').into_iter();

    let start = Instant::now();
    let end = start + Duration::from_secs_f64(duration.parse().unwrap());
    let log = Arc::new(Mutex::new(Log::default()));
    let (client, server) = tls();
    let mut sending = transport();
    sending.congestion_controller_factory(Arc::new(Recorded { algorithm: algorithm.clone(), log: log.clone() }));
    let mut client = ClientConfig::new(Arc::new(client));
    client.transport_config(Arc::new(sending));
    let mut server = ServerConfig::with_crypto(Arc::new(server));
    server.transport_config(Arc::new(transport()));
    let mut hosts = [(None, 1u8), (Some(Arc::new(server)), 2)].map(|(server, seed)| Host {
        endpoint: Endpoint::new(Arc::new(EndpointConfig::default()), server, false, Some([seed; 32])),
        connection: None,
        address: SocketAddr::from(([10, 0, 0, seed], 4433)),
        next: Some(start),
    });
    let addresses = [hosts[0].address, hosts[1].address];
    hosts[0].connection = Some(hosts[0].endpoint.connect(start, client, addresses[1], "server").unwrap());

    let mut output = std::io::BufWriter::new(std::io::stdout().lock());
    let mut path: BTreeMap<(Instant, u64), (usize, Option<EcnCodepoint>, Vec<u8>)> = BTreeMap::new();
    let mut queue: Vec<Instant> = Vec::new(); // ends of transmission at the bottleneck
    let mut sent: Vec<Instant> = Vec::new(); // of the client's datagrams
    let mut stream: Option<StreamId> = None;
    let mut room = data.next().map_or(usize::MAX, |bytes| bytes as usize); // for data of the application
    let chunk = [0; 1 << 16];
    let mut resume: Option<Instant> = data.next().map(|ms| start + Duration::from_millis(ms));
    let (mut now, mut count) = (start, 0);
    while now <= end {
        for from in [0, 1] {
            if let Some((ecn, datagram)) = hosts[from].send(now) {
                count += 1;
                let mut arrival = now + delay;
                if from == 0 {
                    let number = sent.len() as u64;
                    sent.push(now);
                    log.lock().unwrap().add(now, "sent", now);
                    queue.retain(|&departure| departure > now);
                    if drops.iter().any(|range| range[0] <= number && number <= range[1]) || queue.len() >= buffer {
                        continue;
                    }
                    let bytes = datagram.len() as u64 + HEADERS;
                    let begin = queue.last().map_or(now, |&last| last.max(now));
                    let departure = begin + Duration::from_nanos(bytes * 1_000_000_000 / rate);
                    queue.push(departure);
                    arrival = departure + delay;
                }
                path.insert((arrival, count), (1 - from, ecn, datagram));
            }
        }
        while let Some(entry) = path.first_entry().filter(|entry| entry.key().0 <= now) {
            let (to, ecn, datagram) = entry.remove();
            hosts[to].receive(now, addresses[1 - to], ecn, &datagram);
        }
        for host in &mut hosts {
            host.process(now);
        }
        if resume.is_some_and(|time| time <= now) {
            room += data.next().unwrap_or(0) as usize;
            resume = data.next().map(|ms| start + Duration::from_millis(ms));
        }
        let [client, server] = &mut hosts;
        let connection = &mut client.connection.as_mut().unwrap().1;
        if !connection.is_handshaking() {
            let id = *stream.get_or_insert_with(|| connection.streams().open(Dir::Uni).unwrap());
            let mut written = false;
            while room > 0 {
                let Ok(bytes) = connection.send_stream(id).write(&chunk[..room.min(chunk.len())]) else { break };
                room -= bytes;
                written = true;
            }
            if written {
                client.wake(now);
            }
        }
        let mut is_read = false;
        if let (Some((_, connection)), Some(id)) = (server.connection.as_mut(), stream) {
            connection.streams().accept(Dir::Uni);
            if let Ok(mut chunks) = connection.recv_stream(id).read(true) {
                while let Ok(Some(_)) = chunks.next(usize::MAX) {}
                is_read = chunks.finalize().should_transmit();
            };
        }
        if is_read {
            server.wake(now);
        }
        let lost = hosts[0].connection.as_ref().unwrap().1.stats().path.lost_packets;
        for (time, event, when, window, threshold, in_flight, rtt) in log.lock().unwrap().rows.drain(..) {
            let packet = sent.partition_point(|&other| other < when);
            let (time, rtt) = ((time - start).as_nanos(), rtt.as_nanos());
            writeln!(output, "{time},{event},{packet},{window},{threshold},{in_flight},{rtt},{lost}").unwrap();
        }
        let arrival = path.keys().next().map(|key| key.0);
        let [first, second] = &mut hosts;
        match [arrival, first.due(), second.due(), resume].into_iter().flatten().min() {
            Some(time) => now = time.max(now),
            None => break,
        }
    }
}
