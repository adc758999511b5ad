-- What each reader holds, so that one sees in one place who lags behind.

CREATE TABLE lectern.readers (
    name text PRIMARY KEY,
    manuals bigint NOT NULL, -- that it is to hold
    current bigint NOT NULL, -- of these, in the newest generation
    problem text,
    heard timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE FUNCTION lectern.report(its_name text, its_manuals bigint,
        its_current bigint, its_problem text) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = lectern, pg_temp AS $$
    INSERT INTO readers AS r (name, manuals, current, problem)
        VALUES (its_name, its_manuals, its_current, its_problem)
        ON CONFLICT (name) DO UPDATE
        SET manuals = excluded.manuals, current = excluded.current,
            problem = excluded.problem, heard = clock_timestamp();
$$;

REVOKE ALL ON FUNCTION lectern.report FROM PUBLIC;
GRANT SELECT ON lectern.readers TO lectern_reader, lectern_indexer;
GRANT EXECUTE ON FUNCTION lectern.report TO lectern_reader, lectern_indexer;
