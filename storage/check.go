package storage

import (
	"errors"
	"fmt"
	"slices"

	"attestry/evidence"
)

func checkRecord(schema *Schema, record *Record) error {
	if record.ID == "" || record.Revision == 0 {
		return errors.New("a record without id or revision")
	}
	if err := CheckText(record.ID); err != nil {
		return err
	}
	if len(record.Body) > MaxBody {
		return evidence.Errorf(evidence.TooLarge,
			"What is to be stored exceeds the limit of %d MiB for a document of %s", MaxBody>>20, schema.Name)
	}
	for name, value := range record.Fields {
		if !slices.Contains(schema.Fields, name) {
			return fmt.Errorf("field %q is not declared", name)
		}
		if err := CheckValue(value); err != nil {
			return fmt.Errorf("field %s: %w", name, err)
		}
	}
	return nil
}

// CheckIDs reports whether one command can have these ids.
func CheckIDs(ids ...string) error {
	if len(ids) > MaxMany {
		return fmt.Errorf("%d ids in one command", len(ids))
	}
	for _, id := range ids {
		if err := CheckText(id); err != nil {
			return err
		}
	}
	return nil
}

// CheckList checks the arguments of Documents.List.
func CheckList(after string, limit, maxBytes int) error {
	if err := CheckListLimit(limit); err != nil {
		return err
	}
	if maxBytes < 1 {
		return fmt.Errorf("a bound of %d bytes", maxBytes)
	}
	return CheckText(after)
}

// CheckListLimit checks the limit of a list.
func CheckListLimit(limit int) error {
	if limit < 1 || limit > MaxMany {
		return fmt.Errorf("a limit of %d", limit)
	}
	return nil
}

// CheckQuery checks a query for Find, apart from its cursor and the values in Where. Only text may be a client's fault.
func CheckQuery(schema *Schema, query Query) error {
	if err := checkSelection(schema, query); err != nil {
		return err
	}
	if err := CheckListLimit(query.Limit); err != nil {
		return err
	}
	if query.MaxBytes < 0 {
		return fmt.Errorf("a bound of %d bytes", query.MaxBytes)
	}
	if query.Offset < 0 || (query.Offset > 0 && query.After != "") {
		return errors.New("a negative offset, or one beside a cursor")
	}
	for _, condition := range query.Where {
		if !slices.Contains(schema.Fields, condition.Field) {
			return fmt.Errorf("a condition on %q, which is not declared", condition.Field)
		}
	}
	return nil
}

// CheckCount reports whether Count can answer a query.
func CheckCount(schema *Schema, query Query) error {
	if query.After != "" || query.Offset != 0 || query.Limit != 0 || len(query.Where) > 0 {
		return errors.New("a count with cursor, offset, limit or conditions")
	}
	return checkSelection(schema, query)
}

// checkSelection checks the part of a query that the index answers.
func checkSelection(schema *Schema, query Query) error {
	index, ok := schema.IndexNamed(query.Index)
	if !ok {
		return fmt.Errorf("an index %q, which is not declared", query.Index)
	}
	if len(query.Equal) > len(index.Fields) {
		return fmt.Errorf("%d equalities for the %d fields of index %s", len(query.Equal), len(index.Fields), index.Name)
	}
	sets := 0
	for _, value := range query.Equal {
		if _, ok := value.(In); ok {
			sets++
		}
		if err := checkOperand(value); err != nil {
			return err
		}
	}
	if sets > 1 {
		return errors.New("more than one set among the equalities")
	}
	if err := checkRequired(index, query); err != nil {
		return err
	}
	return checkRange(index, query)
}

// checkRequired checks that all documents that a query may find are in the index.
func checkRequired(index Index, query Query) error {
	if index.Required == "" {
		return nil
	}
	position := slices.Index(index.Fields, index.Required)
	if index.Only != nil && (position >= len(query.Equal) || query.Equal[position] != index.Only) {
		return fmt.Errorf("field %s is not asked to be %v, which index %s requires", index.Required, index.Only, index.Name)
	}
	if position == len(query.Equal) && (query.From != nil || query.To != nil) {
		return nil // null is outside of every bound
	}
	if position >= len(query.Equal) {
		return fmt.Errorf("no value for field %s, which index %s requires", index.Required, index.Name)
	}
	value := query.Equal[position]
	if set, ok := value.(In); value == nil || ok && slices.Contains(set, nil) {
		return fmt.Errorf("null for field %s, which index %s requires", index.Required, index.Name)
	}
	return nil
}

func checkOperand(value any) error {
	set, ok := value.(In)
	if !ok {
		return CheckValue(value)
	}
	if len(set) > MaxMany {
		return fmt.Errorf("a set of %d values", len(set))
	}
	for _, member := range set {
		if err := CheckValue(member); err != nil {
			return err
		}
	}
	return nil
}

func checkRange(index Index, query Query) error {
	for _, bound := range []*Bound{query.From, query.To} {
		if bound == nil {
			continue
		}
		if len(query.Equal) == len(index.Fields) {
			return fmt.Errorf("a range behind the last field of index %s", index.Name)
		}
		if bound.Value == nil {
			return errors.New("a range bounded by null")
		}
		if err := CheckValue(bound.Value); err != nil {
			return err
		}
	}
	return nil
}

// InOrder returns records that were found by id in the order of the ids, each once.
func InOrder(ids []string, found map[string]Record) []Record {
	records := make([]Record, 0, len(found))
	for _, id := range ids {
		if record, ok := found[id]; ok {
			records = append(records, record)
			delete(found, id)
		}
	}
	return records
}
