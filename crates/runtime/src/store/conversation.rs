//! Conversations with orchestrators: which run is the newest of each. A request is one run, and the next one follows the
//! newest or is refused; so of two processes that speak at once, one is heard and the other is told.

use super::reader::Reader;
use super::row::RunRow;
use super::{StoreError, place::Place};
use rusqlite::{Connection, OptionalExtension as _};

/// Where a new run stands in a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    pub conversation: String,
    pub orchestrator: String,
    /// The run that must be the newest of the conversation until then; `None`: it begins now.
    pub after: Option<String>,
}

/// A conversation as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationRow {
    pub name: String,
    pub orchestrator: String,
    pub requests: u64,
    pub newest: RunRow,
}

/// Makes a run that was just created the newest of its conversation.
pub(super) fn enter(
    connection: &Connection,
    place: &Place,
    run: &str,
    turn: &Turn,
) -> Result<(), StoreError> {
    let sql = |error: rusqlite::Error| StoreError::sql(&place.database, &error);
    let newest = newest_id(connection, &turn.conversation, &turn.orchestrator).map_err(sql)?;
    if newest != turn.after {
        return Err(StoreError::Overtaken { conversation: turn.conversation.clone(), by: newest });
    }
    connection
        .prepare_cached("UPDATE runs SET conversation = ?2, orchestrator = ?3 WHERE id = ?1")
        .and_then(|mut statement| statement.execute((run, &turn.conversation, &turn.orchestrator)))
        .map(drop)
        .map_err(sql)
}

fn newest_id(connection: &Connection, name: &str, orchestrator: &str) -> rusqlite::Result<Option<String>> {
    connection
        .prepare_cached(
            "SELECT id FROM runs WHERE conversation = ?1 AND orchestrator = ?2 ORDER BY no DESC LIMIT 1",
        )?
        .query_row((name, orchestrator), |row| row.get(0))
        .optional()
}

impl Reader {
    /// The newest run of a conversation with an orchestrator. `None`: they have not spoken.
    pub fn newest_in(&self, conversation: &str, orchestrator: &str) -> Result<Option<RunRow>, StoreError> {
        let id = newest_id(&self.connection, conversation, orchestrator).map_err(|error| self.sql(&error))?;
        id.map_or(Ok(None), |id| self.exact(&id))
    }

    /// All conversations, the one that was spoken in last first.
    pub fn conversations(&self) -> Result<Vec<ConversationRow>, StoreError> {
        let found = || -> rusqlite::Result<Vec<(String, String, i64, String)>> {
            // SQLite takes the other columns from the row of the maximum.
            let mut statement = self.connection.prepare_cached(
                "SELECT conversation, orchestrator, count(*), id, max(no) FROM runs
                 WHERE conversation IS NOT NULL GROUP BY conversation, orchestrator ORDER BY max(no) DESC",
            )?;
            let rows =
                statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
            rows.collect()
        };
        let mut conversations = Vec::new();
        for (name, orchestrator, requests, id) in found().map_err(|error| self.sql(&error))? {
            // One that was removed since is in no list any more.
            let Some(newest) = self.exact(&id)? else { continue };
            let requests = u64::try_from(requests).unwrap_or_default();
            conversations.push(ConversationRow { name, orchestrator, requests, newest });
        }
        Ok(conversations)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::new_run;
    use super::super::{Owner, Store};
    use super::*;

    fn turn(conversation: &str, after: Option<&str>) -> Turn {
        let (conversation, orchestrator) = (conversation.to_owned(), "desk".to_owned());
        Turn { conversation, orchestrator, after: after.map(str::to_owned) }
    }

    fn say(store: &Store, run: &str, turn: &Turn) -> Result<(), StoreError> {
        store.create_owned_run_in(new_run(run), &Owner::this_process(), Some(turn)).map(drop)
    }

    #[test]
    fn each_request_follows_the_newest_and_of_two_at_once_one_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        say(&store, "run_a", &turn("default", None)).unwrap();
        say(&store, "run_b", &turn("default", Some("run_a"))).unwrap();
        let late = say(&store, "run_c", &turn("default", Some("run_a"))).unwrap_err();
        let by = Some("run_b".to_owned());
        assert_eq!(late, StoreError::Overtaken { conversation: "default".to_owned(), by });
        say(&store, "run_d", &turn("旅行", None)).unwrap();
        store.create_run(new_run("run_e")).unwrap();

        let reader = store.reader().unwrap();
        let newest = |name: &str| reader.newest_in(name, "desk").unwrap().map(|row| row.id);
        assert_eq!(newest("default").as_deref(), Some("run_b"));
        assert_eq!(newest("旅行").as_deref(), Some("run_d"));
        assert_eq!(newest("other"), None);
        assert!(reader.newest_in("default", "another").unwrap().is_none());
        assert!(reader.run("run_c").is_err(), "what was refused left nothing behind");
        let all = reader.conversations().unwrap();
        let all: Vec<_> =
            all.iter().map(|row| (row.name.as_str(), row.requests, row.newest.id.as_str())).collect();
        assert_eq!(all, [("旅行", 1, "run_d"), ("default", 2, "run_b")]);
    }

    #[test]
    fn the_newest_of_a_conversation_is_found_by_an_index() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let reader = store.reader().unwrap();
        let plan: String = reader
            .connection
            .query_row(
                "EXPLAIN QUERY PLAN SELECT id FROM runs WHERE conversation = 'a' AND orchestrator = 'b'
                 ORDER BY no DESC LIMIT 1",
                [],
                |row| row.get(3),
            )
            .unwrap();
        assert!(plan.contains("runs_by_conversation"), "{plan}");
    }
}
