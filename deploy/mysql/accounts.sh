# The image of MySQL reads this file when it makes the database, and has docker_process_sql.
sed -e "s/{rows}/$MYSQL_PASSWORD/" -e "s/{schema}/$MYSQL_SCHEMA_PASSWORD/" /accounts.sql | docker_process_sql
