//! Bytes from files, standard input and gzip, never more than may be used.

use std::fs::File;
use std::io::{self, Read};

use flate2::read::MultiGzDecoder;

use crate::error::{Error, Result};

/// What standard input is called in messages.
pub(crate) const STDIN: &str = "standard input";

/// The bytes of the file at `path`, or of standard input for `-`.
pub(crate) fn read(path: &str, limit: Option<u64>) -> Result<Vec<u8>> {
    if path == "-" {
        return read_limited(io::stdin().lock(), STDIN, "the input", limit);
    }
    let file = File::open(path).map_err(|cause| Error::read(path, cause))?;
    let about = file.metadata().map_err(|cause| Error::read(path, cause))?;
    if about.is_dir() {
        return Err(Error::format(path, "is a folder; name a file in it"));
    }
    // A pipe has no length (it says 0) and is bounded while it is read.
    match limit {
        Some(limit) if about.len() > limit => Err(Error::memory(path, "the file", about.len(), limit)),
        _ => read_limited(file, path, "the file", limit),
    }
}

/// Whether the bytes are gzip's.
pub(crate) fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

/// Unpacks gzip. A few kilobytes can unpack to terabytes, hence the limit.
pub(crate) fn gunzip(bytes: &[u8], name: &str, limit: Option<u64>) -> Result<Vec<u8>> {
    read_limited(MultiGzDecoder::new(bytes), name, "the unpacked file", limit).map_err(|error| match error {
        Error::Io { cause, .. } => Error::format(
            name,
            format!("starts like a gzip file but cannot be unpacked ({cause}); fetch or pack it again"),
        ),
        other => other,
    })
}

pub(crate) fn read_limited(mut from: impl Read, name: &str, what: &str, limit: Option<u64>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One byte more than may be, to tell a file that just fits from one that does not.
    let most = limit.map_or(u64::MAX, |limit| limit.saturating_add(1));
    from.by_ref().take(most).read_to_end(&mut bytes).map_err(|cause| Error::read(name, cause))?;
    match limit {
        Some(limit) if bytes.len() as u64 > limit => {
            Err(Error::memory(name, format!("{what} (read so far)"), bytes.len() as u64, limit))
        }
        _ => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn gzip_unpacks_all_members_and_stops_at_the_limit() {
        let mut two = packed(b"a,b\n");
        two.extend(packed(b"1,2\n"));
        assert!(is_gzip(&two));
        assert_eq!(gunzip(&two, "t", Some(8)).unwrap(), b"a,b\n1,2\n");
        assert!(matches!(gunzip(&two, "t", Some(7)), Err(Error::Memory { limit: 7, .. })));

        let bomb = packed(&vec![0; 50_000_000]);
        assert!(bomb.len() < 100_000);
        assert!(matches!(gunzip(&bomb, "t", Some(1 << 20)), Err(Error::Memory { .. })));
    }

    #[test]
    fn damaged_gzip_is_refused() {
        let whole = packed(b"a,b\n1,2\n");
        for cut in 2..whole.len() {
            assert!(matches!(gunzip(&whole[..cut], "t", None), Err(Error::Format { .. })), "cut at {cut}");
        }
    }
}
