-- Two accounts for the database `wangtimer`. The processes read and write rows, and cannot change a table. Only
-- `wangtimer schema upgrade` has the other account. deploy/mysql/accounts.sh puts passwords in place of {name}.
CREATE USER IF NOT EXISTS wangtimer@'%' IDENTIFIED BY '{rows}';
GRANT SELECT, INSERT, UPDATE, DELETE ON wangtimer.* TO wangtimer@'%';
CREATE USER IF NOT EXISTS wangtimer_schema@'%' IDENTIFIED BY '{schema}';
GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX ON wangtimer.* TO wangtimer_schema@'%';
