//! Passwords, hashed with argon2id away from the threads that serve requests.

use std::sync::LazyLock;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use tokio::sync::Semaphore;

/// Each hash takes about 20 MB and a core; more at once would starve everything else.
static HASHING: Semaphore = Semaphore::const_new(2);

/// Verified when there is no such login, so that both cases take equally long.
static NOBODY: LazyLock<String> = LazyLock::new(|| hash_now("nobody signs in with this"));

pub async fn hash(password: String) -> String {
    off_thread(move || hash_now(&password)).await
}

/// Whether the password is the one `stored` was made from; never when there is nothing stored.
pub async fn verify(password: String, stored: Option<String>) -> bool {
    off_thread(move || {
        let known = stored.is_some();
        let phc = stored.unwrap_or_else(|| NOBODY.clone());
        let fits = PasswordHash::new(&phc).is_ok_and(|phc| {
            Argon2::default()
                .verify_password(password.as_bytes(), &phc)
                .is_ok()
        });
        known && fits
    })
    .await
}

fn hash_now(password: &str) -> String {
    Argon2::default()
        .hash_password(password.as_bytes())
        .expect("argon2's own defaults are valid")
        .to_string()
}

async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let _permit = HASHING.acquire().await.expect("never closed");
    tokio::task::spawn_blocking(work)
        .await
        .expect("hashing does not panic")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_right_password_fits_and_nobody_fits_nothing() {
        let stored = hash("grist".to_owned()).await;
        assert!(stored.starts_with("$argon2id$"));
        assert!(verify("grist".to_owned(), Some(stored.clone())).await);
        assert!(!verify("chaff".to_owned(), Some(stored)).await);
        let nobodys = "nobody signs in with this".to_owned();
        assert!(!verify(nobodys, None).await);
    }
}
