package mongodb

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"attestry/evidence"
	"attestry/storage"
)

// Find answers a query. With conditions it reads the fields, and then only the bodies of entries that meet them.
func (db *DB) Find(ctx context.Context, schema *storage.Schema, query storage.Query) (storage.Page, error) {
	collection, err := db.collection(schema)
	if err != nil {
		return storage.Page{}, err
	}
	scan, err := storage.NewScan(schema, query)
	if err != nil {
		return storage.Page{}, err
	}
	fieldsOnly := query.FieldsOnly || len(query.Where) > 0
	err = each(ctx, collection, filter(scan, query.Equal), findOptions(scan, fieldsOnly),
		func(record storage.Record) bool { return scan.Add(record, len(record.Body)) })
	if err != nil {
		return storage.Page{}, err
	}
	if fieldsOnly && !query.FieldsOnly && len(scan.Records()) > 0 {
		if err := fetch(ctx, collection, scan, query.MaxBytes); err != nil {
			return storage.Page{}, err
		}
	}
	return scan.Page()
}

func findOptions(scan *storage.Scan, fieldsOnly bool) *options.FindOptionsBuilder {
	o := options.Find().SetHint(indexName(scan.Index)).SetSort(order(scan.Order, direction(scan)))
	if scan.After == nil {
		o.SetSkip(int64(scan.Skip()))
	}
	if fieldsOnly {
		o.SetProjection(bson.D{{Key: "revision", Value: 1}, {Key: "f", Value: 1}})
	}
	need := scan.Need()
	return o.SetLimit(int64(need)).SetBatchSize(int32(min(need, storage.MaxMany+1)))
}

func direction(scan *storage.Scan) int {
	if scan.Descending {
		return -1
	}
	return 1
}

// fetch reads the bodies of a page. A page whose bodies exceed maxBytes, unless that is 0, ends before the first record
// that was not read.
func fetch(ctx context.Context, collection *mongo.Collection, scan *storage.Scan, maxBytes int) error {
	ids := storage.RecordIDs(scan.Records())
	// Ids mostly rise with time, like the fields that order pages, so the beginning of the page is read first.
	found, all, err := findByID(ctx, collection, ids, maxBytes, direction(scan))
	if err != nil {
		return err
	}
	if _, read := found[ids[0]]; !read && !all {
		if found, _, err = findByID(ctx, collection, ids[:1], 0, 1); err != nil {
			return err
		}
	}
	if !all {
		n := 1
		for _, read := found[ids[n]]; read; _, read = found[ids[n]] {
			n++
		}
		scan.End(n)
	}
	scan.Keep(found)
	return nil
}

// filter selects the entries after the position where the scan begins. Each branch repeats the equalities and so is a
// range of the index: the server merges sorted ranges instead of sorting.
func filter(scan *storage.Scan, equal []any) bson.D {
	branches := bson.A(evidence.Map(scan.Segments(scan.After), func(segment storage.Segment) any { return branch(scan, equal, segment) }))
	switch len(branches) {
	case 0: // nothing comes after the position
		return bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: bson.A{}}}}}
	case 1:
		return branches[0].(bson.D)
	}
	return bson.D{{Key: "$or", Value: branches}}
}

func branch(scan *storage.Scan, equal []any, segment storage.Segment) bson.D {
	conditions := append(equalities(scan.Index.Fields, equal), equalities(scan.Order, segment.Values)...)
	if depth := len(segment.Values); depth < len(scan.Order) {
		conditions = append(conditions, between(scan.Order[depth], segment.From, segment.To)...)
		if segment.NotNull {
			conditions = append(conditions, bson.E{Key: path(scan.Order[depth]), Value: bson.D{{Key: "$ne", Value: nil}}})
		}
	}
	if segment.BeyondID == "" {
		return conditions
	}
	operator := "$gt"
	if scan.Descending {
		operator = "$lt"
	}
	return append(conditions, bson.E{Key: "_id", Value: bson.D{{Key: operator, Value: segment.BeyondID}}})
}

// equalities compares the leading fields with values. A comparison with null holds for absent fields too.
func equalities(fields []string, values []any) bson.D {
	conditions := bson.D{}
	for i, value := range values {
		if set, ok := value.(storage.In); ok {
			value = bson.D{{Key: "$in", Value: bson.A(append([]any{}, set...))}}
		}
		conditions = append(conditions, bson.E{Key: path(fields[i]), Value: value})
	}
	return conditions
}

// between selects the values between two bounds. Null is never between them.
func between(field string, from, to *storage.Bound) bson.D {
	limits := bson.D{}
	if from != nil {
		limits = append(limits, bson.E{Key: operator("$gt", from), Value: from.Value})
	}
	if to != nil {
		limits = append(limits, bson.E{Key: operator("$lt", to), Value: to.Value})
	}
	if len(limits) == 0 {
		return nil
	}
	return bson.D{{Key: path(field), Value: limits}}
}

func operator(strict string, bound *storage.Bound) string {
	if bound.Exclusive {
		return strict
	}
	return strict + "e"
}

// Count counts what a query finds, at most storage.MaxCount.
func (db *DB) Count(ctx context.Context, schema *storage.Schema, query storage.Query) (int64, error) {
	collection, err := db.collection(schema)
	if err != nil {
		return 0, err
	}
	if err := storage.CheckCount(schema, query); err != nil {
		return 0, err
	}
	index, _ := schema.IndexNamed(query.Index)
	conditions := equalities(index.Fields, query.Equal)
	if n := len(query.Equal); n < len(index.Fields) {
		conditions = append(conditions, between(index.Fields[n], query.From, query.To)...)
	}
	o := options.Count().SetHint(indexName(index)).SetLimit(storage.MaxCount)
	var count int64
	err = command(ctx, func(ctx context.Context) (err error) {
		count, err = collection.CountDocuments(ctx, conditions, o)
		return err
	})
	return count, err
}
