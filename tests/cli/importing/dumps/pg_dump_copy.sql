-- PostgreSQL database dump
-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE FUNCTION public.noop() RETURNS trigger
    LANGUAGE plpgsql
    AS $$BEGIN INSERT INTO django_celery_beat_periodictask VALUES (9); RETURN NEW; END;$$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.django_celery_beat_crontabschedule (
    id integer NOT NULL,
    minute character varying(240) NOT NULL,
    hour character varying(96) NOT NULL,
    day_of_week character varying(64) NOT NULL,
    day_of_month character varying(124) NOT NULL,
    month_of_year character varying(64) NOT NULL,
    timezone character varying(63) DEFAULT 'UTC; (x, ''y'')'::character varying NOT NULL
);
ALTER TABLE public.django_celery_beat_crontabschedule ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.django_celery_beat_crontabschedule_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.django_celery_beat_periodictask (
    id integer NOT NULL,
    name character varying(200) NOT NULL,
    task character varying(200) NOT NULL,
    args text NOT NULL,
    kwargs text NOT NULL,
    queue character varying(200),
    enabled boolean NOT NULL,
    last_run_at timestamp with time zone,
    one_off boolean NOT NULL,
    crontab_id integer,
    interval_id integer,
    data bytea
);
CREATE TABLE public.other (
    a text
);
COPY public.django_celery_beat_crontabschedule (id, minute, hour, day_of_week, day_of_month, month_of_year, timezone) FROM stdin;
1	0	9	1	*	*	Asia/Shanghai
\.
COPY public.django_celery_beat_periodictask (id, name, task, args, kwargs, queue, enabled, last_run_at, one_off, crontab_id, interval_id, data) FROM stdin;
1	weekly report	shop.report	["c:\\\\dir\\\\", "it's; (a), \\\\N"]	{"tab": "\t", "cr": "\r",\n "line": "\\\\n",\n\\.\n "c": "中"}	\N	t	2026-11-24 15:55:00.123+00	f	1	\N	\\x23610d0a
\.
COPY public.other (a) FROM stdin;
x;y
\.
SELECT pg_catalog.setval('public.django_celery_beat_crontabschedule_id_seq', 1, true);
CREATE TRIGGER t BEFORE INSERT ON public.other FOR EACH ROW EXECUTE FUNCTION public.noop();
-- PostgreSQL database dump complete
