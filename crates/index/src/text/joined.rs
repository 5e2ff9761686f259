//! Words on their way into tantivy: joined by spaces, and cut there again.
//!
//! Tantivy also takes words as they are, but carries those as JSON, which costs
//! more than cutting them. None of ours holds a space; nor does a version or the
//! name of a unit, so each of those stays one word.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// Stands in for tantivy's tokenizer of this name, which the schema asks for everywhere.
pub const NAME: &str = "raw";

pub fn join(words: &[String]) -> String {
    words.join(" ")
}

/// Cuts at every single space.
#[derive(Debug, Clone, Default)]
pub struct Joined {
    token: Token,
}

pub struct Words<'a> {
    rest: Option<&'a str>,
    token: &'a mut Token,
}

impl Tokenizer for Joined {
    type TokenStream<'a> = Words<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Words<'a> {
        self.token.reset();
        Words {
            rest: Some(text),
            token: &mut self.token,
        }
    }
}

impl TokenStream for Words<'_> {
    fn advance(&mut self) -> bool {
        let Some(rest) = self.rest.take() else {
            return false;
        };
        let (word, rest) = match rest.split_once(' ') {
            Some((word, rest)) => (word, Some(rest)),
            None => (rest, None),
        };
        self.rest = rest;
        self.token.text.clear();
        self.token.text.push_str(word);
        self.token.position = self.token.position.wrapping_add(1);
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_joined_is_cut_into_the_same_words() {
        // A word of marks alone has nothing left once they are gone.
        for words in [&["mill"][..], &["東京", "", "grain"], &[""]] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let (joined, mut tokenizer) = (join(&words), Joined::default());
            let mut stream = tokenizer.token_stream(&joined);
            for (position, word) in words.iter().enumerate() {
                assert!(stream.advance());
                assert_eq!(
                    (&stream.token().text, stream.token().position),
                    (word, position)
                );
            }
            assert!(!stream.advance());
        }
    }
}
