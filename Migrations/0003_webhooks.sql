-- oldest-program: 0001

-- The endpoints that changes of places are sent to. A document has all of a webhook, its secret, its position in the
-- change log and the message that is sent next; programs alone read it.
CREATE TABLE webhooks (
  id uuid PRIMARY KEY,
  -- Grows with each change, so that of two concurrent changes one fails and is repeated.
  revision bigint NOT NULL,
  document json NOT NULL
);

-- One row: the instance that sends, until the time at which another one may.
CREATE TABLE webhook_lease (
  owner bigint NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX webhook_lease_single ON webhook_lease ((true));
INSERT INTO webhook_lease (owner, expires_at) VALUES (0, '-infinity');
