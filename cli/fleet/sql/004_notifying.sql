-- As before, but for the notification: transactions that notify commit one after the
-- other, each with its own wait for the disk.  Who registers notifies afterwards.
--
-- Makes a pack the newest generation of its manual.  NULL: the lease was lost, and
-- nothing is changed.  Asked again by the same lease it answers the same.
CREATE OR REPLACE FUNCTION lectern.register(its_manual bigint, its_fence bigint,
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
    RETURN its_id;
END $$;
