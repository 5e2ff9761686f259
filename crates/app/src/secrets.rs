//! The keys tokens are signed with: made on first start and kept with mode 0600, or configured.
//!
//! To rotate a configured one, move it to the old ones and configure another: tokens name
//! the key that signed them, so nobody is signed out.

use std::fs;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use web::auth::{Key, Keys};

use crate::config::Auth;
use crate::explain::{Hinted, hinted};
use crate::folder::Folder;

pub const FILE: &str = "secrets.json";
pub const FIRST_PASSWORD: &str = "first-password";

#[derive(Serialize, Deserialize)]
struct Secrets {
    version: u32,
    /// Newest first; the others still read what they signed.
    keys: Vec<Key>,
}

/// A shorter secret can be guessed, one that signs from a token it signed (RFC 7518, 3.2).
const SHORTEST: usize = 32;

/// The keys of a folder that is ours: configured, kept, or made now.
pub fn ensure(folder: &Folder, auth: &Auth) -> anyhow::Result<Keys> {
    if let Some(keys) = load(folder, auth)? {
        return Ok(keys);
    }
    let secrets = Secrets {
        version: 1,
        keys: vec![Key::random()],
    };
    durable::effect_blocking("app.write_secrets", || write(folder, &secrets))?;
    Ok(Keys::new([secrets.keys, old(auth)?].concat()))
}

/// The keys a folder has, whoever holds it; `None` where nothing was ever started.
pub fn load(folder: &Folder, auth: &Auth) -> anyhow::Result<Option<Keys>> {
    let newest = match auth.jwt_secret.as_str() {
        "" => kept(folder)?,
        secret => Some(vec![key("auth.jwt_secret", secret)?]),
    };
    let old = old(auth)?;
    Ok(newest.map(|newest| Keys::new([newest, old].concat())))
}

/// Configured keys that sign no more.
fn old(auth: &Auth) -> anyhow::Result<Vec<Key>> {
    let secrets = auth.jwt_old_secrets.split(',').map(str::trim);
    let given = secrets.filter(|secret| !secret.is_empty());
    given
        .map(|secret| key("auth.jwt_old_secrets", secret))
        .collect()
}

fn key(setting: &str, secret: &str) -> anyhow::Result<Key> {
    check_length(setting, secret, "for one made on first start")?;
    Ok(Key::from_secret(secret))
}

/// What opens `/internal/process`, where anything does.
pub fn internal_token(auth: &Auth) -> anyhow::Result<Option<String>> {
    let token = auth.internal_token.trim();
    if token.is_empty() {
        return Ok(None);
    }
    check_length("auth.internal_token", token, "to take runs from nobody")?;
    if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(hinted(
            "`auth.internal_token` has a character that no header can carry",
            "make one with `openssl rand -base64 32`",
        ));
    }
    Ok(Some(token.to_owned()))
}

fn check_length(setting: &str, secret: &str, empty: &str) -> anyhow::Result<()> {
    if secret.len() >= SHORTEST {
        return Ok(());
    }
    Err(hinted(
        format!("a secret in `{setting}` has fewer than {SHORTEST} bytes and could be guessed"),
        format!("make one with `openssl rand -base64 32`, or leave it empty {empty}"),
    ))
}

const LOST: &str = "put the file back from a backup, or remove it: a new key is made, and \
                    everyone signs in again";

fn kept(folder: &Folder) -> anyhow::Result<Option<Vec<Key>>> {
    let path = folder.join(FILE);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read `{}`", path.display()));
        }
    };
    let damaged = |what: &str| Hinted::new(format!("`{}` {what}", path.display()), LOST);
    let secrets: Secrets =
        serde_json::from_str(&text).with_context(|| damaged("does not hold signing keys"))?;
    match secrets.keys.is_empty() {
        true => Err(damaged("holds no key").into()),
        false => Ok(Some(secrets.keys)),
    }
}

/// A password for the first admin, durable before the admin is.
pub fn first_password(folder: &Folder) -> anyhow::Result<String> {
    if let Some(kept) = unshown_password(folder) {
        return Ok(kept);
    }
    let password = hex::encode(rand::random::<[u8; 9]>());
    durable::effect_blocking("app.write_first_password", || {
        folder.write_whole(FIRST_PASSWORD, &password)
    })?;
    Ok(password)
}

/// The first admin's password, if it was made up and not yet shown.
pub fn unshown_password(folder: &Folder) -> Option<String> {
    fs::read_to_string(folder.join(FIRST_PASSWORD)).ok()
}

/// Somebody has seen it.
#[expect(
    clippy::disallowed_methods,
    reason = "this is where it becomes an effect"
)]
pub fn forget_password(folder: &Folder) -> anyhow::Result<()> {
    let path = folder.join(FIRST_PASSWORD);
    durable::effect_blocking("app.forget_first_password", || fs::remove_file(path))
        .context("cannot forget the first password")
}

fn write(folder: &Folder, secrets: &Secrets) -> anyhow::Result<()> {
    folder.write_whole(FILE, &serde_json::to_string_pretty(secrets)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn keys_are_made_once_and_only_their_owner_reads_them() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::create(dir.path()).unwrap();
        let auth = Auth::default();
        assert!(load(&folder, &auth).unwrap().is_none());
        ensure(&folder, &auth).unwrap();
        let first = fs::read(folder.join(FILE)).unwrap();
        ensure(&folder, &auth).unwrap();
        assert_eq!(fs::read(folder.join(FILE)).unwrap(), first);
        let mode = fs::metadata(folder.join(FILE))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_secret_that_could_be_guessed_is_refused_and_not_told() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::create(dir.path()).unwrap();
        let short = || "changeme".to_owned();
        let signs = Auth {
            jwt_secret: short(),
            ..Auth::default()
        };
        let signed = Auth {
            jwt_old_secrets: format!("{},{}", "x".repeat(SHORTEST), short()),
            ..Auth::default()
        };
        let shared = Auth {
            internal_token: short(),
            ..Auth::default()
        };
        let refusals = [
            ensure(&folder, &signs).err(),
            ensure(&folder, &signed).err(),
            internal_token(&shared).err(),
        ];
        for refused in refusals {
            let refused = refused.unwrap().to_string();
            assert!(refused.contains("fewer than 32 bytes"), "{refused}");
            assert!(!refused.contains("changeme"), "{refused}");
        }
        assert_eq!(internal_token(&Auth::default()).unwrap(), None);
    }

    #[test]
    fn a_shared_token_that_no_header_carries_is_refused_and_not_told() {
        for odd in ["schlüssel", "two words", "bell\u{7}"] {
            let shared = Auth {
                internal_token: format!("{odd}{}", "x".repeat(SHORTEST)),
                ..Auth::default()
            };
            let refused = internal_token(&shared).unwrap_err().to_string();
            assert!(refused.contains("auth.internal_token"), "{refused}");
            assert!(!refused.contains(odd), "{refused}");
        }
    }
}
