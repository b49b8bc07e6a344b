-- The relations that hold follow from the observations (tongyao/protocol/rules/standing.py).
DROP TABLE relations;
