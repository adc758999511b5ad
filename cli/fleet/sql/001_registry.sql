-- The registry of a fleet: which manuals there are, who indexes each, which packs
-- came of it.
--
-- Times are the server's alone (clock_timestamp), so that a machine with a wrong
-- clock neither keeps nor loses a lease by it.  What must hold is in the functions,
-- which are all that the role lectern_indexer may change anything by.

CREATE TABLE lectern.settings (
    name text PRIMARY KEY,
    value text NOT NULL
);
INSERT INTO lectern.settings VALUES ('lease_seconds', '60');

CREATE TABLE lectern.manuals (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE CHECK (name <> ''),
    source text NOT NULL CHECK (source <> ''), -- folder, as indexers see it
    added timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- One row a manual.  All that decides whether it may be taken stands in this row,
-- so that FOR UPDATE looks at it again, as it is then, before it gives it out.
CREATE TABLE lectern.leases (
    manual bigint PRIMARY KEY REFERENCES lectern.manuals ON DELETE CASCADE,
    wanted bigint NOT NULL DEFAULT 0,    -- revision that was asked for
    published bigint NOT NULL DEFAULT 0, -- revision that there is a pack of
    taken bigint,                        -- revision that is worked at; NULL: none
    fence bigint NOT NULL DEFAULT 0,     -- number of the last lease
    holder text,
    until timestamptz,
    failures integer NOT NULL DEFAULT 0, -- in a row
    problem text,                        -- of the last
    again timestamptz                    -- not before
);
CREATE INDEX leases_open ON lectern.leases (manual) WHERE wanted > published;

CREATE TABLE lectern.packs (
    sha256 text PRIMARY KEY CHECK (sha256 ~ '^[0-9a-f]{64}$'), -- of the file
    hash text NOT NULL,   -- the name that the pack gives itself
    file text NOT NULL,   -- below the place of packs
    bytes bigint NOT NULL CHECK (bytes > 0),
    signer text           -- public key; NULL: nobody
);

CREATE TABLE lectern.generations (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    manual bigint NOT NULL REFERENCES lectern.manuals ON DELETE CASCADE,
    revision bigint NOT NULL,
    fence bigint NOT NULL,
    pack text NOT NULL REFERENCES lectern.packs,
    worker text NOT NULL,
    published timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (manual, fence)
);
CREATE INDEX generations_newest ON lectern.generations (manual, id DESC);

-- What became of each lease.
CREATE TABLE lectern.attempts (
    manual bigint NOT NULL REFERENCES lectern.manuals ON DELETE CASCADE,
    fence bigint NOT NULL,
    revision bigint NOT NULL,
    worker text NOT NULL,
    taken timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended timestamptz,
    outcome text CHECK (outcome IN ('published', 'failed', 'lost')),
    PRIMARY KEY (manual, fence)
);

-- Asks for a manual to be indexed, a new one or one again.  Returns the revision.
CREATE FUNCTION lectern.ask_for(its_name text, its_source text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = lectern, pg_temp AS $$
DECLARE
    its_id bigint;
    revision bigint;
BEGIN
    IF its_source IS NULL THEN
        SELECT id INTO its_id FROM manuals WHERE name = its_name;
        IF its_id IS NULL THEN
            RETURN NULL;
        END IF;
    ELSE
        INSERT INTO manuals (name, source) VALUES (its_name, its_source)
            ON CONFLICT (name) DO UPDATE SET source = excluded.source
            RETURNING id INTO its_id;
    END IF;
    INSERT INTO leases AS l (manual, wanted) VALUES (its_id, 1)
        ON CONFLICT (manual) DO UPDATE
        SET wanted = l.wanted + 1, failures = 0, again = NULL
        RETURNING wanted INTO revision;
    PERFORM pg_notify('lectern_work', its_name);
    RETURN revision;
END $$;

-- Gives out a manual that is to be indexed; no row: there is none.  `but`: manuals
-- that the worker cannot index.
CREATE FUNCTION lectern.take(its_worker text, but bigint[])
    RETURNS TABLE (manual bigint, name text, source text, revision bigint,
                   fence bigint, seconds integer)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = lectern, pg_temp AS $$
#variable_conflict use_column
DECLARE
    l leases;
    now timestamptz := clock_timestamp();
    length integer;
BEGIN
    SELECT value::integer INTO length FROM settings s
        WHERE s.name = 'lease_seconds';
    SELECT * INTO l FROM leases x
        WHERE x.wanted > x.published AND (x.until IS NULL OR x.until < now)
            AND (x.again IS NULL OR x.again < now) AND x.manual <> ALL (but)
        ORDER BY x.manual LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF l.taken IS NOT NULL THEN
        UPDATE attempts a SET ended = now, outcome = 'lost'
            WHERE a.manual = l.manual AND a.fence = l.fence;
    END IF;
    UPDATE leases x SET taken = l.wanted, fence = l.fence + 1,
            holder = its_worker, until = now + make_interval(secs => length)
        WHERE x.manual = l.manual;
    INSERT INTO attempts (manual, fence, revision, worker)
        VALUES (l.manual, l.fence + 1, l.wanted, its_worker);
    RETURN QUERY SELECT m.id, m.name, m.source, l.wanted, l.fence + 1, length
        FROM manuals m WHERE m.id = l.manual;
END $$;

-- Keeps a lease.  False: it was lost, somebody else has it or has published.
CREATE FUNCTION lectern.renew(its_manual bigint, its_fence bigint)
    RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = lectern, pg_temp AS $$
BEGIN
    UPDATE leases SET until = clock_timestamp() +
            make_interval(secs => (SELECT value::integer FROM settings
                                   WHERE name = 'lease_seconds'))
        WHERE manual = its_manual AND fence = its_fence AND taken IS NOT NULL;
    RETURN FOUND;
END $$;

-- Gives a lease back, with why: the manual waits longer after each failure.
CREATE FUNCTION lectern.give_back(its_manual bigint, its_fence bigint, why text)
    RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = lectern, pg_temp AS $$
BEGIN
    UPDATE leases SET taken = NULL, holder = NULL, until = NULL,
            failures = failures + 1, problem = why, again = clock_timestamp() +
                make_interval(secs => least(3600, 15 * 2 ^ least(failures, 10)))
        WHERE manual = its_manual AND fence = its_fence AND taken IS NOT NULL;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE attempts SET ended = clock_timestamp(), outcome = 'failed'
        WHERE manual = its_manual AND fence = its_fence;
    RETURN true;
END $$;

-- Makes a pack the newest generation of its manual.  NULL: the lease was lost, and
-- nothing is changed.  Asked again by the same lease it answers the same.
CREATE FUNCTION lectern.register(its_manual bigint, its_fence bigint,
        its_sha256 text, its_hash text, its_file text, its_bytes bigint,
        its_signer text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = lectern, pg_temp AS $$
DECLARE
    l leases;
    its_id bigint;
BEGIN
    SELECT * INTO l FROM leases WHERE manual = its_manual FOR UPDATE;
    SELECT id INTO its_id FROM generations
        WHERE manual = its_manual AND fence = its_fence;
    IF its_id IS NOT NULL OR l.fence IS DISTINCT FROM its_fence
            OR l.taken IS NULL THEN
        RETURN its_id;
    END IF;
    INSERT INTO packs VALUES (its_sha256, its_hash, its_file, its_bytes, its_signer)
        ON CONFLICT DO NOTHING;
    INSERT INTO generations (manual, revision, fence, pack, worker)
        VALUES (its_manual, l.taken, its_fence, its_sha256, l.holder)
        RETURNING id INTO its_id;
    UPDATE leases SET published = l.taken, taken = NULL, holder = NULL,
            until = NULL, failures = 0, problem = NULL, again = NULL
        WHERE manual = its_manual;
    UPDATE attempts SET ended = clock_timestamp(), outcome = 'published'
        WHERE manual = its_manual AND fence = its_fence;
    PERFORM pg_notify('lectern_packs', its_manual::text);
    RETURN its_id;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA lectern FROM PUBLIC;
GRANT USAGE ON SCHEMA lectern TO lectern_reader, lectern_indexer;
GRANT SELECT ON ALL TABLES IN SCHEMA lectern TO lectern_reader, lectern_indexer;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA lectern TO lectern_indexer;
