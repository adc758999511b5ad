-- Manuals that are withdrawn, and the files of packs that nobody needs any more.
--
-- A withdrawn manual stays as a row: what is no longer published must be told from
-- what a registry that was made anew does not know, or readers would drop that.

ALTER TABLE lectern.manuals ADD withdrawn timestamptz; -- NULL: it is not

-- Which generation is offered: the one that has not ended, if any.
ALTER TABLE lectern.generations ADD ended timestamptz;
UPDATE lectern.generations g SET ended = clock_timestamp()
    WHERE EXISTS (SELECT FROM lectern.generations n
                  WHERE n.manual = g.manual AND n.id > g.id);
CREATE UNIQUE INDEX generations_offered ON lectern.generations (manual)
    WHERE ended IS NULL;

CREATE FUNCTION lectern.end_earlier() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE lectern.generations SET ended = clock_timestamp()
        WHERE manual = NEW.manual AND ended IS NULL;
    RETURN NEW;
END $$;
CREATE TRIGGER end_earlier BEFORE INSERT ON lectern.generations
    FOR EACH ROW EXECUTE FUNCTION lectern.end_earlier();

-- A file is written down before it is put into its place, so that it is known of
-- one who died then as well.
ALTER TABLE lectern.attempts ADD file text;
ALTER TABLE lectern.attempts ADD removed boolean NOT NULL DEFAULT false;
UPDATE lectern.attempts a SET file = p.file
    FROM lectern.generations g JOIN lectern.packs p ON p.sha256 = g.pack
    WHERE g.manual = a.manual AND g.fence = a.fence;
CREATE INDEX attempts_files ON lectern.attempts (file)
    WHERE file IS NOT NULL AND NOT removed;
INSERT INTO lectern.settings VALUES ('grace_seconds', '86400')
    ON CONFLICT DO NOTHING;

-- Says which file a lease is about to make.  False: the lease was lost.
CREATE FUNCTION lectern.announce(its_manual bigint, its_fence bigint,
        its_file text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = lectern, pg_temp AS $$
BEGIN
    PERFORM FROM leases WHERE manual = its_manual AND fence = its_fence
        AND taken IS NOT NULL FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    -- What registers the file waits for the disk, for this as well.
    PERFORM set_config('synchronous_commit', 'off', true);
    UPDATE attempts SET file = its_file
        WHERE manual = its_manual AND fence = its_fence;
    RETURN true;
END $$;

CREATE VIEW lectern.offers AS
    SELECT g.id, m.name, p.sha256, a.file, p.bytes, p.signer, g.published
    FROM lectern.generations g JOIN lectern.manuals m ON m.id = g.manual
        JOIN lectern.packs p ON p.sha256 = g.pack
        JOIN lectern.attempts a ON a.manual = g.manual AND a.fence = g.fence
    WHERE g.ended IS NULL;

-- Files whose lease or generation ended longer ago than the time of grace, in which
-- somebody may still be copying them.
CREATE VIEW lectern.unneeded AS
    SELECT a.manual, a.fence, a.file
    FROM lectern.attempts a LEFT JOIN lectern.generations g
        ON g.manual = a.manual AND g.fence = a.fence
    WHERE a.file IS NOT NULL AND NOT a.removed
        AND CASE WHEN g.id IS NULL THEN a.ended ELSE g.ended END <
            clock_timestamp() - make_interval(secs =>
                (SELECT value::integer FROM lectern.settings
                 WHERE name = 'grace_seconds'))
        AND a.file NOT IN (SELECT file FROM lectern.offers);

CREATE FUNCTION lectern.has_removed(its_manual bigint, its_fence bigint)
    RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = lectern, pg_temp AS $$
    UPDATE attempts SET removed = true
        WHERE manual = its_manual AND fence = its_fence;
$$;

-- Offers a manual no longer, until it is asked for again.  False: there is none.
CREATE FUNCTION lectern.withdraw(its_name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = lectern, pg_temp AS $$
DECLARE
    its_id bigint;
    l leases;
BEGIN
    SELECT id INTO its_id FROM manuals WHERE name = its_name
        FOR NO KEY UPDATE;
    IF its_id IS NULL THEN
        RETURN false;
    END IF;
    SELECT * INTO l FROM leases WHERE manual = its_id FOR UPDATE;
    UPDATE manuals SET withdrawn = coalesce(withdrawn, clock_timestamp())
        WHERE id = its_id;
    UPDATE attempts SET ended = clock_timestamp(), outcome = 'lost'
        WHERE manual = its_id AND fence = l.fence AND outcome IS NULL;
    UPDATE leases SET wanted = greatest(wanted, published), published = wanted,
            taken = NULL, holder = NULL, until = NULL, failures = 0,
            problem = NULL, again = NULL
        WHERE manual = its_id;
    UPDATE generations SET ended = clock_timestamp()
        WHERE manual = its_id AND ended IS NULL;
    PERFORM pg_notify('lectern_packs', its_name);
    RETURN true;
END $$;

-- As before; a manual that was withdrawn is one again.
CREATE OR REPLACE FUNCTION lectern.ask_for(its_name text, its_source text)
    RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = lectern, pg_temp AS $$
DECLARE
    its_id bigint;
    revision bigint;
BEGIN
    IF its_source IS NULL THEN
        SELECT id INTO its_id FROM manuals WHERE name = its_name
            FOR NO KEY UPDATE; -- before the lease, as withdraw does
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
    UPDATE manuals SET withdrawn = NULL
        WHERE id = its_id AND withdrawn IS NOT NULL;
    PERFORM pg_notify('lectern_work', its_name);
    RETURN revision;
END $$;

REVOKE ALL ON FUNCTION lectern.end_earlier, lectern.announce,
    lectern.has_removed, lectern.withdraw FROM PUBLIC;
GRANT SELECT ON lectern.offers, lectern.unneeded
    TO lectern_reader, lectern_indexer;
GRANT EXECUTE ON FUNCTION lectern.announce, lectern.has_removed,
    lectern.withdraw TO lectern_indexer;
