package evidence

import "slices"

// Map returns the converted elements, in their order.
func Map[E, T any](elements []E, convert func(E) T) []T {
	converted := make([]T, 0, len(elements))
	for _, element := range elements {
		converted = append(converted, convert(element))
	}
	return converted
}

// First returns the first element that fits, or false.
func First[E any](elements []E, fits func(E) bool) (first E, ok bool) {
	for _, element := range elements {
		if fits(element) {
			return element, true
		}
	}
	return first, false
}

// ByKey maps unique keys to their values.
func ByKey[K comparable, V any](values []V, key func(*V) K) map[K]V {
	byKey := make(map[K]V, len(values))
	for i := range values {
		byKey[key(&values[i])] = values[i]
	}
	return byKey
}

// ToMap returns the map of the pairs of the elements, whose keys are unique.
func ToMap[E any, K comparable, V any](elements []E, pair func(*E) (K, V)) map[K]V {
	converted := make(map[K]V, len(elements))
	for i := range elements {
		key, value := pair(&elements[i])
		converted[key] = value
	}
	return converted
}

// SetOf is the set of the keys of elements.
func SetOf[E any, K comparable](elements []E, key func(*E) K) map[K]bool {
	set := make(map[K]bool, len(elements))
	for i := range elements {
		set[key(&elements[i])] = true
	}
	return set
}

// Distinct removes repetitions; the others keep their order.
func Distinct(texts []string) []string {
	return FirstOfEach(texts, func(text string) string { return text })
}

// FirstOfEach returns the first of the elements that share a key.
func FirstOfEach[E any, K comparable](elements []E, key func(E) K) []E {
	seen := make(map[K]bool, len(elements))
	var firsts []E
	for _, element := range elements {
		if k := key(element); !seen[k] {
			seen[k] = true
			firsts = append(firsts, element)
		}
	}
	return firsts
}

// WithoutEmpty returns a copy of the texts without those that are empty.
func WithoutEmpty(texts []string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return text == "" })
}
