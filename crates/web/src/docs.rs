//! The API's description: OpenAPI from the code.

use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{
    Http, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{
    ContentBuilder, InfoBuilder, OpenApi, OpenApiBuilder, PathItem, Ref, RefOr, Required,
    ResponseBuilder,
};
use utoipa::{PartialSchema as _, ToSchema as _};

use crate::problem::ProblemBody;

pub fn about() -> OpenApi {
    let info = InfoBuilder::new()
        .title("Gristmill")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(
            "Turns files into a searchable knowledge base whose every answer can be traced to \
             the page it came from.",
        ))
        .build();
    OpenApiBuilder::new().info(info).build()
}

/// Says once, for every operation, how it is signed and what a failure looks like.
pub fn complete(description: &mut OpenApi) {
    let components = description.components.get_or_insert_default();
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)).into();
    components
        .security_schemes
        .insert("bearer".to_owned(), bearer);
    components
        .security_schemes
        .insert("internal".to_owned(), internal().into());
    let problem = ProblemBody::name().into_owned();
    components
        .schemas
        .insert(problem.clone(), ProblemBody::schema());
    description.security = Some(vec![SecurityRequirement::new("bearer", [""; 0])]);
    let reference = Ref::from_schema_name(&problem);
    for item in description.paths.paths.values_mut() {
        for operation in operations(item) {
            allow_empty_file(operation);
            let response = ResponseBuilder::new()
                .description("What went wrong, and what to do about it")
                .content(
                    "application/problem+json",
                    ContentBuilder::new()
                        .schema(Some(reference.clone()))
                        .build(),
                )
                .build();
            let responses = &mut operation.responses.responses;
            responses.insert("default".to_owned(), RefOr::T(response));
        }
    }
}

/// What servers and workers show each other.
fn internal() -> SecurityScheme {
    let scheme = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some(
            "The auth.internal_token that servers and workers share",
        ));
    SecurityScheme::Http(scheme.build())
}

/// A file of no bytes is a file too, and in HTTP as good as none.
fn allow_empty_file(operation: &mut Operation) {
    if let Some(RefOr::T(body)) = &mut operation.request_body
        && body.content.contains_key("application/octet-stream")
    {
        body.required = Some(Required::False);
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let each = [
        &mut item.get,
        &mut item.put,
        &mut item.post,
        &mut item.delete,
        &mut item.patch,
        &mut item.head,
    ];
    each.into_iter().flatten()
}
