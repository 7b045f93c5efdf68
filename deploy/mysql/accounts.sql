-- Two accounts for the database `wangtimer`, and for those that `wangtimer restore` makes beside it (wangtimer_restored...).
-- The processes read and write rows, and cannot change a table. Only a person has the other account, for `wangtimer
-- schema upgrade`, `wangtimer backup` and `wangtimer restore`. deploy/mysql/accounts.sh puts passwords in place of {name}.
CREATE USER IF NOT EXISTS wangtimer@'%' IDENTIFIED BY '{rows}';
GRANT SELECT, INSERT, UPDATE, DELETE ON wangtimer.* TO wangtimer@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON `wangtimer\_restored%`.* TO wangtimer@'%';
CREATE USER IF NOT EXISTS wangtimer_schema@'%' IDENTIFIED BY '{schema}';
GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX ON wangtimer.* TO wangtimer_schema@'%';
GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX ON `wangtimer\_restored%`.* TO wangtimer_schema@'%';
