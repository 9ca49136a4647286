//! Ranks that are processes of this test program. The process that started them forwards their bytes, and so knows their current calls: it can kill
//! one in the middle of a call's work.

use binade_ranks::{Group, GroupError};
use std::env;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{self, Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Environment variable with a process's rank, the number of ranks and the port of the process that started it.
const RANK: &str = "BINADE_TEST_RANK";
/// Exit code of a rank that lost another rank.
const LEFT: i32 = 3;

/// Rank of a process.
pub struct Process {
    rank: usize,
    ranks: usize,
    hub: Mutex<TcpStream>,
    /// True while the rank saves.
    pub is_saving: AtomicBool,
}

fn put(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    to.write_all(&(bytes.len() as u64).to_le_bytes())?;
    to.write_all(bytes)
}

fn take(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let mut bytes = vec![0; usize::try_from(u64::from_le_bytes(length)).unwrap()];
    from.read_exact(&mut bytes).map(|()| bytes)
}

impl Process {
    /// Returns this process's rank; `None` in the one that starts ranks.
    pub fn here() -> Option<Self> {
        let told = env::var(RANK).ok()?;
        let numbers: Vec<u16> = told.split(' ').map(|number| number.parse().unwrap()).collect();
        let [rank, ranks, port] = numbers[..] else { panic!("{told}") };
        let mut hub = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        // Nagle's algorithm would delay small messages.
        hub.set_nodelay(true).unwrap();
        hub.write_all(&rank.to_le_bytes()).unwrap();
        let (rank, ranks, is_saving) = (rank.into(), ranks.into(), AtomicBool::new(false));
        Some(Self { rank, ranks, hub: Mutex::new(hub), is_saving })
    }

    /// Returns the bytes of each rank.
    fn all(&self, call: &'static str, own: &[u8]) -> Result<Vec<Vec<u8>>, GroupError> {
        let mut hub = self.hub.lock().unwrap();
        let mut talk = || -> io::Result<Vec<_>> {
            hub.write_all(&[u8::from(self.is_saving.load(Ordering::Relaxed))])?;
            put(&mut *hub, own)?;
            (0..self.ranks).map(|_| take(&mut *hub)).collect()
        };
        talk().map_err(|error| GroupError::Failed { call, why: error.to_string() })
    }
}

impl Group for Process {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn all_gather(&self, own: &[u8], _: &[usize], all: &mut [u8]) -> Result<(), GroupError> {
        all.copy_from_slice(&self.all("all_gather", own)?.concat());
        Ok(())
    }

    fn exchange(
        &self,
        send: &[u8],
        sends: &[usize],
        receive: &mut [u8],
        _: &[usize],
    ) -> Result<(), GroupError> {
        let starts = (0..=self.ranks).map(|rank| sends[..rank].iter().sum::<usize>() as u64);
        let table: Vec<u8> =
            starts.flat_map(u64::to_le_bytes).chain(send.iter().copied()).collect();
        let part = |bytes: Vec<u8>| {
            let (table, data) = bytes.split_at(8 * (self.ranks + 1));
            let (starts, _) = table.as_chunks::<8>();
            let start = |rank: usize| usize::try_from(u64::from_le_bytes(starts[rank])).unwrap();
            data[start(self.rank)..start(self.rank + 1)].to_vec()
        };
        let parts: Vec<_> = self.all("exchange", &table)?.into_iter().map(part).collect();
        receive.copy_from_slice(&parts.concat());
        Ok(())
    }

    fn broadcast(&self, root: usize, bytes: &mut [u8]) -> Result<(), GroupError> {
        bytes.copy_from_slice(&self.all("broadcast", bytes)?[root]);
        Ok(())
    }
}

/// Ends this process, since another rank is gone.
pub fn leave() -> ! {
    process::exit(LEFT)
}

/// Kill of a rank: the rank, the number of its call during saving, from 1, and the delay after that call.
#[derive(Clone, Copy, Debug)]
pub struct Kill {
    pub rank: usize,
    pub call: usize,
    pub after: Duration,
}

/// Starts ranks as processes that run this test, kills one of them, and waits until all end. Without a kill all must succeed.
pub fn run(ranks: usize, test: &str, variables: &[(&str, &str)], kill: Option<Kill>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let start = |rank: usize| {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture"]).stdout(Stdio::null());
        command.envs(variables.iter().copied()).env(RANK, format!("{rank} {ranks} {port}"));
        command.spawn().unwrap()
    };
    let mut children: Vec<Child> = (0..ranks).map(start).collect();
    let mut streams: Vec<Option<TcpStream>> = (0..ranks).map(|_| None).collect();
    for _ in 0..ranks {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        let mut rank = [0; 2];
        stream.read_exact(&mut rank).unwrap();
        streams[usize::from(u16::from_le_bytes(rank))] = Some(stream);
    }
    let mut streams: Vec<_> = streams.into_iter().flatten().collect();
    carry(&mut streams, &mut children, kill).unwrap_err();
    drop(streams);
    for (rank, child) in children.iter_mut().enumerate() {
        let code = child.wait().unwrap().code();
        let expected = match kill {
            None => Some(0),
            // A signal gives no exit code.
            Some(kill) if kill.rank == rank => None,
            Some(_) => Some(LEFT),
        };
        assert_eq!(code, expected, "rank {rank} of {ranks}, {kill:?}");
    }
}

/// Forwards the bytes of ranks until one is gone.
fn carry(streams: &mut [TcpStream], children: &mut [Child], kill: Option<Kill>) -> io::Result<()> {
    let mut calls = 0;
    loop {
        let mut all = Vec::new();
        for (rank, stream) in streams.iter_mut().enumerate() {
            let mut is_saving = [0];
            stream.read_exact(&mut is_saving)?;
            calls += usize::from(rank == 0 && is_saving == [1]);
            all.push((take(stream)?, is_saving == [1]));
        }
        for stream in streams.iter_mut() {
            for (bytes, _) in &all {
                put(stream, bytes)?;
            }
        }
        if let Some(kill) = kill.filter(|kill| kill.call == calls && all[0].1) {
            thread::sleep(kill.after);
            // SIGKILL, on systems with signals.
            children[kill.rank].kill()?;
        }
    }
}
