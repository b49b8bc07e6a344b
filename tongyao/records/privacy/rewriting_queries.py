"""Which texts erasure reads: those of a process, those of the person that it could read, and those of everybody around."""

from __future__ import annotations

from typing import Final

ROOM: Final = """
    SELECT v.text_id FROM seats s JOIN profile_versions v ON (v.profile_id, v.version) = (s.profile_id, s.profile_version)
    WHERE s.process_id = %(process)s AND s.profile_id <> %(who)s"""

SCENE: Final = """
    SELECT text_id FROM (
        SELECT v.text_id, row_number() OVER shortest AS number, sum(v.chars) OVER shortest AS chars
        FROM processes p JOIN profiles o ON o.scene_id = p.scene_id
        JOIN profile_versions v ON v.profile_id = o.id AND v.version = o.current_version
        WHERE p.id = %(process)s AND o.id <> %(who)s AND o.deleted_at IS NULL
        WINDOW shortest AS (ORDER BY v.chars, o.id ROWS UNBOUNDED PRECEDING)) AS there
    WHERE number <= %(limit)s AND chars <= %(chars)s"""

_NAMED: Final = """
    WITH named AS (
        SELECT text_id AS id, round = 1 AS independent, 1 AS heard FROM projections WHERE process_id = %(process)s
        UNION ALL SELECT text_id, false, 0 FROM observations WHERE process_id = %(process)s
        UNION ALL SELECT text_id, false, 0 FROM plans WHERE process_id = %(process)s
        UNION ALL SELECT markdown_text_id, false, 0 FROM plans WHERE process_id = %(process)s
        UNION ALL SELECT text_id, false, 0 FROM deliveries WHERE process_id = %(process)s
        UNION ALL SELECT text_id, false, 2 FROM answers WHERE process_id = %(process)s
        UNION ALL SELECT text_id, false, 2 FROM feedback WHERE process_id = %(process)s
        UNION ALL SELECT text_id, false, 2 FROM contacts WHERE process_id = %(process)s
        -- words for the first round may come late, after the observation of that round was read
        UNION ALL SELECT m.text_id,
                         m.kind = 'revise_tension' OR (m.payload ->> 'round' = '1' AND NOT EXISTS (
                             SELECT 1 FROM texts o WHERE o.owner = %(owner)s AND o.kind = 'observation' AND o.created_at <= m.created_at)),
                         CASE m.kind WHEN 'submit_projection' THEN 1 WHEN 'answer_plan' THEN 2 ELSE 0 END
                  FROM messages m WHERE m.process_id = %(process)s
        UNION ALL SELECT s.text_id, false, 0 FROM signalled s WHERE s.process_id = %(process)s
        UNION ALL SELECT r.text_id, false, 0 FROM replaced_texts r WHERE r.process_id = %(process)s
        UNION ALL SELECT answer_text_id, round <= 1 AND step IN ('formulate', 'project'), 0
                  FROM model_calls WHERE process_id = %(process)s
        UNION ALL SELECT draft_text_id, round <= 1 AND step IN ('formulate', 'project'), 0
                  FROM model_calls WHERE process_id = %(process)s
        UNION ALL SELECT intent_text_id, depth = 0, 0 FROM processes WHERE id = %(process)s
        UNION ALL SELECT tension_text_id, depth = 0, 0 FROM processes WHERE id = %(process)s
        UNION ALL SELECT id, false, 0 FROM texts WHERE owner = %(owner)s)
"""

# The oldest id is the one that tables name: a text may have been replaced several times.
TEXTS: Final = (
    _NAMED
    + """
    SELECT (array_agg(o.id ORDER BY o.created_at, o.id))[1] AS text_id, t.owner, t.kind,
           bool_or(named.independent) AS independent, max(named.heard) AS heard, min(o.created_at) AS created_at
    FROM named JOIN texts o USING (id) JOIN texts t ON t.id = COALESCE(o.replaced_by, o.id)
    WHERE t.body IS NOT NULL AND t.owner <> %(who)s AND t.owner NOT IN (SELECT owner FROM tombstones)
    GROUP BY t.id, t.owner, t.kind ORDER BY t.id"""
)

OWN: Final = (
    _NAMED
    + """,
    read AS (
        SELECT id FROM named
        UNION SELECT (settings ->> 'strategy')::uuid FROM processes WHERE id = %(process)s AND settings ->> 'strategy' <> ''
        -- the version of their profile that was recorded when they were seated
        UNION SELECT v.text_id FROM seats s JOIN profile_versions v ON (v.profile_id, v.version) = (s.profile_id, s.profile_version)
              WHERE s.process_id = %(process)s AND s.profile_id = %(who)s
        -- of a demander the versions that formulation may have read
        UNION SELECT v.text_id FROM processes p JOIN profile_versions v ON v.profile_id = p.demander
              WHERE p.id = %(process)s AND p.demander = %(who)s
                AND v.version >= COALESCE((SELECT max(w.version) FROM profile_versions w
                                           WHERE w.profile_id = p.demander AND w.created_at <= p.created_at), 1)
                AND v.created_at <= COALESCE((SELECT n.created_at FROM texts n WHERE n.id = p.tension_text_id), now())
        UNION SELECT m.id FROM texts m JOIN processes p ON p.id = %(process)s
              WHERE m.owner = %(who)s AND m.kind = 'mandate' AND m.created_at <= COALESCE(p.ended_at, now()))
    SELECT t.id, t.kind FROM read JOIN texts t USING (id)
    WHERE t.owner = %(who)s AND t.kind = ANY(%(kinds)s) AND t.body IS NOT NULL"""
)
