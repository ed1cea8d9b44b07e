"""t-SNE of handwritten digits, and new digits embedded by `transform`."""

import lowd
from lowd import datasets, plot

digits = datasets.load("digits")
old, new = digits.X[:1000], digits.X[1000:]

model = lowd.TSNE(2).fit(old)
print(lowd.evaluate(old, model.embedding_, labels=digits.labels[:1000]))

Y_new = model.transform(new)  # the training embedding stays fixed
plot.save(plot.scatter(model.embedding_, digits.labels[:1000]), "digits.png")
plot.save(plot.scatter(Y_new, digits.labels[1000:]), "digits_new.png")
