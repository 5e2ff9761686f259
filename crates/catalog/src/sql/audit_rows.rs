//! Single rows, read as they are.

use std::collections::BTreeMap;

use model::{
    DocumentId, GenerationId, JobId, KbId, PageSize, RunId, SourceId, SourceOrder, Step, UnitName,
    UserId, VersionId,
};
use uuid::Uuid;

use super::cells::Cells;
use super::dialect::Dialect;
use super::{columns, noted_documents, work};
use crate::{
    ActivationFile, Artifacts, ClaimSum, DocumentFacts, DocumentHead, Error, RunFile, UnitFile,
    VersionFile, WorkFile,
};

pub fn head<DB: Dialect>(row: &DB::Row) -> Result<(DocumentHead, DocumentFacts), Error> {
    let facts = noted_documents::read::<DB>(row)?;
    if !columns::are_sound::<DB>(row, columns::OF_DOCUMENT) {
        return Err(Error::corrupt("a time of a document"));
    }
    let row = Cells::<DB>(row);
    let head = DocumentHead {
        kb: row.id("kb_id", KbId::from_uuid)?,
        source_uri: row.uri("source_uri")?,
        source: row.maybe_id("source_id", SourceId::from_uuid)?,
        latest: row.maybe_id("latest_version", VersionId::from_uuid)?,
        ledger_head: row.maybe_hash("ledger_head")?,
        ledger_sum: row.maybe_hash("ledger_sum")?,
    };
    Ok((head, facts))
}

/// Its id alone where no more can be read.
pub fn version_or_id<DB: Dialect>(row: &DB::Row) -> Result<Result<VersionFile, VersionId>, Error> {
    match version::<DB>(row) {
        Ok(version) => Ok(Ok(version)),
        Err(_) => Cells::<DB>(row).id("id", VersionId::from_uuid).map(Err),
    }
}

pub fn version<DB: Dialect>(row: &DB::Row) -> Result<VersionFile, Error> {
    let row = Cells::<DB>(row);
    Ok(VersionFile {
        id: row.id("id", VersionId::from_uuid)?,
        kb: row.id("kb_id", KbId::from_uuid)?,
        generation: row.id("generation_id", GenerationId::from_uuid)?,
        number: row.small("number")?,
        run: row.id("run_id", RunId::from_uuid)?,
        content_hash: row.hash("content_hash")?,
        size: row.count("size")?,
        filename: row.text("filename")?,
        media_type: row.maybe_text("media_type")?,
        language: row.maybe_text("language")?,
        state: row.word("state")?,
        pass: row.small("pass")?,
        units_total: row.small("units_total")?,
        units_open: row.small("units_open")?,
        needs_flush: row.maybe_count("needs_flush")?,
        chunks: row.count("chunks")?,
        tokens: row.count("tokens")?,
        root_hash: row.maybe_hash("root_hash")?,
        artifacts: Artifacts {
            text: row.maybe_hash("text_hash")?,
            parsed: row.maybe_hash("parsed_hash")?,
            units: BTreeMap::new(),
        },
        metadata: row.json("metadata")?,
        filterable: Vec::new(),
        units: Vec::new(),
        steps: Vec::new(),
        unread_steps: 0,
        pages: Vec::new(),
        facts: None,
        claims: ClaimSum::default(),
        witness: None,
        order: row.order("source_order")?,
        order_sum: row.maybe_hash("order_sum")?,
        created_at: row.at("created_at")?,
    })
}

pub fn activation<DB: Dialect>(row: &DB::Row) -> Result<ActivationFile, Error> {
    let row = Cells::<DB>(row);
    Ok(ActivationFile {
        id: row.get("id")?,
        replaced: row.get("replaced")?,
        kb: row.id("kb_id", KbId::from_uuid)?,
        generation: row.id("generation_id", GenerationId::from_uuid)?,
        version: row.id("version_id", VersionId::from_uuid)?,
        owner: row.maybe_id("owner", DocumentId::from_uuid)?,
        number: row.small("number")?,
        needs_flush: row.count("needs_flush")?,
        chunks: row.count("chunks")?,
        cause: row.word("cause")?,
        by: row.maybe_id("opened_by", UserId::from_uuid)?,
        opened_at: row.at("opened_at")?,
        closed_at: row.maybe_at("closed_at")?,
    })
}

pub fn run<DB: Dialect>(row: &DB::Row) -> Result<RunFile, Error> {
    let row = Cells::<DB>(row);
    let claim: Option<Uuid> = row.get("claim")?;
    let claimant = row.maybe_id("claimant", JobId::from_uuid)?;
    Ok(RunFile {
        id: row.id("id", RunId::from_uuid)?,
        version: row.id("version_id", VersionId::from_uuid)?,
        kb: row.id("kb_id", KbId::from_uuid)?,
        generation: row.id("generation_id", GenerationId::from_uuid)?,
        source_uri: row.uri("source_uri")?,
        content_hash: row.hash("content_hash")?,
        source: row.maybe_id("source_id", SourceId::from_uuid)?,
        status: row.word("status")?,
        superseded: row.get("superseded")?,
        created_at: row.at("created_at")?,
        order: row
            .maybe_text("source_order")?
            .map(SourceOrder::from_stored),
        chunks_created: row.count("chunks_created")?,
        stands_in: row.text("run_type")? == "repair",
        unclaimed: claimant.filter(|_| claim.is_none()),
    })
}

/// What it is a step of, and which, where that can be read.
pub type FiledStep = (WorkFile, Option<Step>);

pub fn step<DB: Dialect>(row: &DB::Row) -> Result<FiledStep, Error> {
    let cells = Cells::<DB>(row);
    let filed = WorkFile {
        version: cells.id("version_id", VersionId::from_uuid)?,
        run: cells.id("run_id", RunId::from_uuid)?,
    };
    Ok((filed, work::read_step::<DB>(row).ok()))
}

pub type FiledUnit = (VersionId, UnitFile, Option<model::ContentHash>);

pub fn unit<DB: Dialect>(row: &DB::Row) -> Result<FiledUnit, Error> {
    let row = Cells::<DB>(row);
    let unit = UnitFile {
        name: UnitName::new(row.text("unit")?).map_err(Error::corrupt)?,
        pass: row.small("pass")?,
        position: row.small("position")?,
        state: row.word("state")?,
        chunks: row.count("chunks")?,
        tokens: row.count("tokens")?,
    };
    let version = row.id("version_id", VersionId::from_uuid)?;
    Ok((version, unit, row.maybe_hash("artifact_hash")?))
}

pub type FiledPage = (VersionId, u64, PageSize);

pub fn page_size<DB: Dialect>(row: &DB::Row) -> Result<FiledPage, Error> {
    let row = Cells::<DB>(row);
    let size = PageSize {
        width: row.get::<f64>("width")? as f32,
        height: row.get::<f64>("height")? as f32,
    };
    let version = row.id("version_id", VersionId::from_uuid)?;
    Ok((version, row.count("page")?, size))
}

pub type FiledPair = (VersionId, KbId, (String, String));

pub fn pair<DB: Dialect>(row: &DB::Row) -> Result<FiledPair, Error> {
    let row = Cells::<DB>(row);
    let version = row.id("version_id", VersionId::from_uuid)?;
    let kb = row.id("kb_id", KbId::from_uuid)?;
    Ok((version, kb, (row.text("key")?, row.text("value")?)))
}
