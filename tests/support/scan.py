"""Searches a text in all of a database. Canary tests use it."""

from __future__ import annotations

import json

import psycopg
from psycopg import sql

_COLUMNS = """
    SELECT c.table_schema, c.table_name, c.column_name, c.udt_name
    FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
    WHERE t.table_type = 'BASE TABLE' AND c.table_schema NOT IN ('pg_catalog', 'information_schema')
    ORDER BY 1, 2, 3
"""


def find_in_database(url: str, canary: str) -> list[str]:
    """Every `table.column` (outside `public`: `schema.table.column`) that contains `canary`, for columns of all types.

    Bytes are read as UTF-8, JSON both plain and escaped, arrays by their elements. The result is sorted by table.
    """
    forms = {canary, json.dumps(canary)[1:-1], json.dumps(canary, ensure_ascii=False)[1:-1]}
    found = []
    with psycopg.connect(url, autocommit=True) as connection:
        for schema, table, column, kind in connection.execute(_COLUMNS).fetchall():
            needle = sql.SQL("convert_to(form, 'UTF8')" if kind == "bytea" else "form")
            value = sql.Identifier(column) if kind == "bytea" else sql.SQL("{}::text").format(sql.Identifier(column))
            query = sql.SQL(
                "SELECT 1 FROM {table}, unnest(%s::text[]) AS form WHERE position({needle} IN {value}) > 0 LIMIT 1"
            ).format(table=sql.Identifier(schema, table), needle=needle, value=value)
            if connection.execute(query, [sorted(forms)]).fetchone():
                found.append(f"{table}.{column}" if schema == "public" else f"{schema}.{table}.{column}")
    return found
