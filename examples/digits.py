"""Handwritten digits: a map by t-SNE, and new digits placed in it."""

import lowd
from lowd import datasets, plot

digits = datasets.load("digits")
old, new = digits.X[:1000], digits.X[1000:]

model = lowd.TSNE(2).fit(old)
print(lowd.evaluate(old, model.embedding_, labels=digits.labels[:1000]))

places = model.transform(new)  # the map stays as it is
plot.save(plot.scatter(model.embedding_, digits.labels[:1000]), "digits.png")
plot.save(plot.scatter(places, digits.labels[1000:]), "digits_new.png")
