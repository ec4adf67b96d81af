DELETE FROM NAME
WHERE position IN (SELECT CAST(value AS int) FROM OPENJSON(?));

DELETE FROM assay_notes WHERE name = ?;

DROP TABLE IF EXISTS NAME;

IF OBJECT_ID('NAME', 'U') IS NULL
CREATE TABLE NAME (position int NOT NULL PRIMARY KEY, vector VECTOR(SIZE) NOT NULL);

IF OBJECT_ID('assay_notes', 'U') IS NULL
CREATE TABLE assay_notes (name nvarchar(128) NOT NULL PRIMARY KEY, note nvarchar(max) NOT NULL);

INSERT INTO NAME (position, vector)
SELECT position, CAST(vector AS VECTOR(SIZE))
FROM OPENJSON(?) WITH (position int, vector nvarchar(max) AS JSON);

INSERT INTO assay_notes (name, note) VALUES (?, ?);

SELECT CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128)),
CAST(SERVERPROPERTY('EngineEdition') AS int);

SELECT COUNT(*) FROM NAME;

SELECT OBJECT_ID('assay_notes', 'U');

SELECT TOP (?) position,
1 - VECTOR_DISTANCE('cosine', vector, CAST(CAST(? AS nvarchar(max)) AS VECTOR(SIZE))) AS score
FROM NAME ORDER BY score DESC, position;

SELECT TOP (?) position,
1 - VECTOR_DISTANCE('cosine', vector, CAST(CAST(? AS nvarchar(max)) AS VECTOR(SIZE))) AS score
FROM NAME WHERE position IN (SELECT CAST(value AS int) FROM OPENJSON(?)) ORDER BY score DESC, position;

SELECT name, note FROM assay_notes;
