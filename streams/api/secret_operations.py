"""The operations on an endpoint's secrets: rotate, reveal. Both are in the audit table."""

from dataclasses import replace
from datetime import timedelta
from typing import Final

from connectors.postgres.stored_endpoint import StoredEndpoint
from connectors.webhook.errors import TooManySecretsError
from connectors.webhook.rotation import rotated
from connectors.webhook.secret import Secret
from streams.api.models import NoFields, Rotation
from streams.api.operation import Answer, Call, Operation, check_revision, etag
from streams.api.problem import Problem, ProblemError
from streams.api.views import RevealedSecret, RevealedSecrets, SecretRotated, expires_at_utc, secret_states

__all__ = ["SECRET_OPERATIONS"]

_OF_ONE: Final = "/v1/endpoints/{endpoint_id}/secret"


def _rotate(call: Call) -> Answer:
    rotation: Rotation = call.body or Rotation()
    secret = Secret.generate() if rotation.secret is None else Secret.parse(rotation.secret)

    def change(before: StoredEndpoint) -> StoredEndpoint:
        check_revision(call.if_match, before.revision)
        try:
            secrets = rotated(
                before.endpoint.secrets, secret, now=call.now, overlap=timedelta(seconds=rotation.overlap_s)
            )
        except TooManySecretsError as error:
            raise ProblemError(Problem(kind="conflict", detail=f"{error}.")) from None
        return replace(before, endpoint=replace(before.endpoint, secrets=secrets))

    stored = call.endpoints.change(call.endpoint_id, change, action="secret.rotated")
    made = secret.reveal() if rotation.secret is None else None
    return Answer(
        body=SecretRotated(secret=made, secrets=secret_states(stored.endpoint.secrets)),
        headers={"ETag": etag(stored.revision)},
    )


def _reveal(call: Call) -> Answer:
    endpoint = call.endpoints.stored(call.endpoint_id).endpoint
    secrets = [
        RevealedSecret(secret=secret.reveal(), expires_at=expires_at_utc(secret))
        for secret in endpoint.signing_secrets(call.now)
    ]
    call.audit.add(call.actor, "secret.revealed", endpoint_id=endpoint.id)
    return Answer(body=RevealedSecrets(secrets=secrets))


SECRET_OPERATIONS: Final = (
    Operation(
        name="rotateSecret",
        method="POST",
        path=f"{_OF_ONE}/rotate",
        summary="Rotate the secret",
        description="The new secret signs at once, the old ones beside it until the overlap ends. Nobody has to come "
        "back and end it.",
        scope="write",
        body=Rotation,
        answer=SecretRotated,
        problems=("not-found", "conflict"),
        conditional=True,
        tagged=True,
        run=_rotate,
    ),
    Operation(
        name="revealSecret",
        method="POST",
        path=f"{_OF_ONE}/reveal",
        summary="Reveal the secrets",
        description="Those that sign now, newest first. Each time is an entry in the audit table.",
        scope="write",
        body=NoFields,
        answer=RevealedSecrets,
        problems=("not-found", "conflict"),
        run=_reveal,
    ),
)
