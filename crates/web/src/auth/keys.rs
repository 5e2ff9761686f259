//! Tokens: signed by the newest key, accepted from any key still listed.
//!
//! A token names its key (`kid`), so keys can be rotated without signing anyone out.
//! Only HS256 is ever accepted, whatever a token's header claims.

use chrono::{DateTime, TimeDelta, Utc};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use model::{ContentHash, TenantId, UserId};
use serde::{Deserialize, Serialize};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use catalog::Role;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use crate::signature::keyed;

/// A signing key and the name tokens call it by.
#[derive(Clone, Serialize, Deserialize)]
pub struct Key {
    pub kid: String,
    secret: String,
}

/// Newest first.
#[derive(Clone)]
pub struct Keys(Vec<Key>);

/// What a token says of its bearer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    pub sub: UserId,
    pub tenant_id: TenantId,
    pub role: Role,
    #[serde(default)]
    pub reach: Reach,
    pub iat: i64,
    pub exp: i64,
}

/// How far a token reaches. Nobody is given one beyond their tenant: it takes the keys of the data
/// folder to sign it, and whoever has these has all that is in there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    #[default]
    Tenant,
    /// Everything in the data folder.
    Folder,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Refused {
    #[error("the token is not one of ours")]
    Foreign,
    #[error("the token has expired")]
    Expired,
}

impl Key {
    pub fn random() -> Self {
        let secret: [u8; 32] = rand::random();
        Self::from_secret(&super::encoded(&secret))
    }

    /// Equal secrets get equal names, so a configured key survives a restart.
    pub fn from_secret(secret: &str) -> Self {
        let kid = ContentHash::of(secret.as_bytes()).to_string();
        Self {
            kid: kid[..16].to_owned(),
            secret: secret.to_owned(),
        }
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Key({})", self.kid)
    }
}

impl Keys {
    /// # Panics
    /// Without a key nobody could ever sign in.
    pub fn new(keys: Vec<Key>) -> Self {
        assert!(!keys.is_empty(), "there is always a key to sign with");
        Self(keys)
    }

    pub fn sign(
        &self,
        (sub, tenant_id, role): (UserId, TenantId, Role),
        reach: Reach,
        now: DateTime<Utc>,
        life: TimeDelta,
    ) -> String {
        let key = &self.0[0];
        let claims = Claims {
            sub,
            tenant_id,
            role,
            reach,
            iat: now.timestamp(),
            exp: (now + life).timestamp(),
        };
        let mut header = Header::new(Algorithm::HS256);
        header.kid = Some(key.kid.clone());
        let secret = EncodingKey::from_secret(key.secret.as_bytes());
        jsonwebtoken::encode(&header, &claims, &secret).expect("claims are plain JSON")
    }

    /// Seals something only we will be asked to recognise, under the newest key.
    pub fn seal(&self, text: &str) -> String {
        let key = &self.0[0];
        let code = sealed(key, text).finalize().into_bytes();
        format!("{}.{}", key.kid, super::encoded(&code))
    }

    /// Whether a seal is one of ours and of this text.
    pub fn is_sealed(&self, text: &str, seal: &str) -> bool {
        let Some((kid, code)) = seal.split_once('.') else {
            return false;
        };
        let key = self.0.iter().find(|key| key.kid == kid);
        let code = URL_SAFE_NO_PAD.decode(code);
        key.zip(code.ok())
            .is_some_and(|(key, code)| sealed(key, text).verify_slice(&code).is_ok())
    }

    pub fn read(&self, token: &str, now: DateTime<Utc>) -> Result<Claims, Refused> {
        let header = jsonwebtoken::decode_header(token).map_err(|_| Refused::Foreign)?;
        let named = self
            .0
            .iter()
            .find(|key| Some(&key.kid) == header.kid.as_ref());
        let key = named.ok_or(Refused::Foreign)?;
        let mut rules = Validation::new(Algorithm::HS256);
        rules.set_required_spec_claims(&["exp", "sub"]);
        // Expiry is checked below, against the clock we were handed.
        rules.validate_exp = false;
        let secret = DecodingKey::from_secret(key.secret.as_bytes());
        let claims = jsonwebtoken::decode::<Claims>(token, &secret, &rules)
            .map_err(|_| Refused::Foreign)?
            .claims;
        if claims.exp <= now.timestamp() {
            return Err(Refused::Expired);
        }
        Ok(claims)
    }
}

/// Apart from tokens, which the same keys sign.
fn sealed(key: &Key, text: &str) -> Hmac<Sha256> {
    keyed(
        key.secret.as_bytes(),
        &[b"gristmill seal\n", text.as_bytes()],
    )
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn now() -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000, 0).unwrap()
    }

    fn sign(keys: &Keys) -> String {
        let who = (
            UserId::from_uuid(Uuid::from_u128(1)),
            TenantId::from_uuid(Uuid::from_u128(2)),
            Role::User,
        );
        keys.sign(who, Reach::Tenant, now(), TimeDelta::hours(24))
    }

    fn part(json: &serde_json::Value) -> String {
        base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(json.to_string())
    }

    #[test]
    fn a_token_is_read_until_it_expires() {
        let keys = Keys::new(vec![Key::random()]);
        let token = sign(&keys);
        assert!(keys.read(&token, now()).is_ok());
        let late = now() + TimeDelta::hours(24);
        assert_eq!(keys.read(&token, late), Err(Refused::Expired));
    }

    #[test]
    fn a_rotated_key_still_reads_what_it_signed_and_a_dropped_one_does_not() {
        let old = Key::random();
        let token = sign(&Keys::new(vec![old.clone()]));
        let rotated = Keys::new(vec![Key::random(), old]);
        assert!(rotated.read(&token, now()).is_ok());
        assert_ne!(sign(&rotated), token);
        let dropped = Keys::new(vec![Key::random()]);
        assert_eq!(dropped.read(&token, now()), Err(Refused::Foreign));
    }

    #[test]
    fn a_seal_is_of_one_text_and_of_our_keys() {
        let keys = Keys::new(vec![Key::random()]);
        let seal = keys.seal("PUT one");
        assert!(keys.is_sealed("PUT one", &seal));
        assert!(!keys.is_sealed("PUT two", &seal));
        assert!(!Keys::new(vec![Key::random()]).is_sealed("PUT one", &seal));
        assert!(!keys.is_sealed("PUT one", "nonsense") && !keys.is_sealed("PUT one", ""));
    }

    #[test]
    fn forged_tokens_are_refused() {
        let key = Key::random();
        let keys = Keys::new(vec![key.clone()]);
        let token = sign(&keys);
        let [head, body, signature]: [&str; 3] =
            token.split('.').collect::<Vec<_>>().try_into().unwrap();
        let header =
            |alg: &str| part(&serde_json::json!({ "alg": alg, "typ": "JWT", "kid": key.kid }));
        let claims = |tenant: u128| {
            part(&serde_json::json!({
                "sub": Uuid::from_u128(1), "tenant_id": Uuid::from_u128(tenant), "role": "admin",
                "iat": 0, "exp": now().timestamp() + 10
            }))
        };
        let stranger = Keys::new(vec![Key {
            kid: key.kid.clone(),
            secret: "another".to_owned(),
        }]);
        let forged = [
            format!("{}.{body}.", header("none")),
            format!("{}.{body}.{signature}", header("HS512")),
            format!("{}.{body}.{signature}", header("RS256")),
            format!("{head}.{}.{signature}", claims(3)),
            sign(&stranger),
            format!("{head}.{body}.AAAA"),
            "gibberish".to_owned(),
            String::new(),
        ];
        for token in forged {
            assert_eq!(keys.read(&token, now()), Err(Refused::Foreign), "{token}");
        }
    }
}
