-- depends: 0001.create-outbox-table
-- What Debezium subscribes to: inserts only, so that deleting rows costs it nothing; under the root's name, should the
-- table be partitioned one day. FOR TABLE needs its owner and CREATE on the database, no superuser. A publication
-- of that name that an operator made before is kept, and completed.

do $$
begin
    if not exists (select from pg_catalog.pg_publication where pubname = 'outbox') then
        create publication outbox for table outbox.outbox
            with (publish = 'insert', publish_via_partition_root = true);
    elsif not exists (
        select from pg_catalog.pg_publication_tables
        where pubname = 'outbox' and schemaname = 'outbox' and tablename = 'outbox'
    ) then
        alter publication outbox add table outbox.outbox;
    end if;
end
$$;
